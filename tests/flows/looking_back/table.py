"""The table: a row for each kind of stage."""

from collections.abc import Mapping
from typing import Final

from tests.flows.looking_back.row import Row
from tests.flows.looking_back.rows_of_answers import (
    AssetAllocationRow,
    ComprehensionRow,
    RankingRow,
    SurveyPerParticipantRow,
    SurveyRow,
)
from tests.flows.looking_back.rows_of_games import BeautyContestRow, MatrixGameRow
from tests.flows.looking_back.rows_of_pages import (
    InfoRow,
    PayoutRow,
    ProfileRow,
    RevealRow,
    RoleRow,
    StockInfoRow,
    TermsOfServiceRow,
)
from tests.flows.looking_back.rows_of_talks import GroupChatRow, GroupInterviewRow, PrivateChatRow

ROWS: Final[Mapping[str, Row]] = {
    "asset_allocation": AssetAllocationRow(),
    "beauty_contest": BeautyContestRow(),
    "comprehension": ComprehensionRow(),
    "group_chat": GroupChatRow(),
    "group_interview": GroupInterviewRow(),
    "info": InfoRow(),
    "matrix_game": MatrixGameRow(),
    "payout": PayoutRow(),
    "private_chat": PrivateChatRow(),
    "profile": ProfileRow(),
    "ranking": RankingRow(),
    "reveal": RevealRow(),
    "role": RoleRow(),
    "stock_info": StockInfoRow(),
    "survey": SurveyRow(),
    "survey_per_participant": SurveyPerParticipantRow(),
    "terms_of_service": TermsOfServiceRow(),
}
