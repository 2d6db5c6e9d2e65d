from pathlib import Path

from parley_lab.cli.lab_for_tests import ParleyLab

STUDY = Path(__file__).parent / "study.yaml"


def test_everybody_hears_what_is_said(lab: ParleyLab) -> None:
    lab.says("I would share.")

    run = lab.run(STUDY)

    assert {message["text"] for message in run.messages} == {"I would share."}
    assert "I would share." in str(lab.calls[-1]["messages"])
