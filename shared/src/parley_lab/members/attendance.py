"""Everybody who is in a cohort or was in it, as part of a statement."""

from typing import Final

ATTENDANCE: Final = """(
    SELECT m.id, m.experiment_id, m.cohort_id, m.path, m.kind, m.player, m.profile, m.agent_config, m.provider,
        m.status, m.stage_ids, m.position, m.stay, m.treatment_id, m.seat, false AS has_moved,
        m.entered_position AS entered
    FROM members m
    UNION ALL
    SELECT m.id, m.experiment_id, s.cohort_id, m.path, m.kind, m.player, m.profile, m.agent_config, m.provider,
        CAST('left' AS text), s.stage_ids, s.position, m.stay, m.treatment_id, CAST(NULL AS int), true, 0
    FROM stays s JOIN members m ON m.id = s.member_id
    WHERE s.left_at IS NOT NULL AND m.cohort_id <> s.cohort_id AND NOT EXISTS (
        SELECT FROM stays n WHERE n.member_id = s.member_id AND n.cohort_id = s.cohort_id AND n.number > s.number))"""
"""Members by cohort. A member who has moved counts in each earlier one as a member who has left, where it was."""

DRAWN_ELSEWHERE: Final = """CASE WHEN m.stay > 0 THEN (
    SELECT jsonb_object_agg(x.stage_id, x.draws ORDER BY s.number DESC)
    FROM stays s JOIN cohort_stages x ON x.cohort_id = s.cohort_id AND x.stage_id = ANY(s.stage_ids[1:s.position])
    WHERE s.member_id = m.id AND s.left_at IS NOT NULL) END"""
"""The draws of the stages that the member `m` did in earlier cohorts: each as it was where they were on it."""
