import pytest
from dialects import events, measured, records

from diagnose.parsers import steps_tables as dialect

FASTAI = (
    "epoch     train_loss  valid_loss  accuracy  time    \n"
    "0         0.781204    0.552310    0.781000  00:41   \n"
    "1         0.701204    0.512310    0.801000  00:40   \n"
)
YOLO = (
    "     Epoch   gpu_mem      GIoU       obj       cls     total   targets  img_size\n"
    "      3/99     5.00G      1.23     0.412     0.031      1.67        24       640\n"
    "               Class    Images   Targets         P         R   mAP@0.5        F1\n"
    "                 all  5.00e+03  1.00e+04     0.873      0.89      0.91     0.836\n"
)
SIZED = (
    "      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size\n"
    "       1/50      2.00G      1.250      2.500      1.125         16        640:   5%|5 | 5/100 [00:01<00:19,  4.9it/s]\r"
    "       1/50      2.00G      1.000      2.000      1.000         16        640: 100%|##########| 100/100 [00:20<00:00,  4.9it/s]\n"
)
NOTEBOOK = "Step\tTraining Loss\tValidation Loss\n500\t2.1\t2.4\n1000\t1.9\t2.3\n"
RULED = "| step | loss | lr |\n|------|------|----|\n| 10 | 2.5 | 1e-4 |\n"


@pytest.mark.parametrize(
    "text, rows",
    [
        (FASTAI, [(0, {"loss": 0.781204, "validation_loss": 0.55231}), (1, {"loss": 0.701204, "validation_loss": 0.51231})]),
        (YOLO, [(3, {"loss": 1.67, "memory_used": 5 * 2**30})]),
        (SIZED, [(1, {"loss": 4.0, "memory_used": 2 * 2**30})]),
        (NOTEBOOK, [(500, {"loss": 2.1, "validation_loss": 2.4}), (1000, {"loss": 1.9, "validation_loss": 2.3})]),
        (RULED, [(10, {"loss": 2.5, "learning_rate": 1e-4})]),
    ],
)  # fmt: skip
def test_each_row_below_its_header(text, rows):
    assert [(record.step, record.values) for record in measured(dialect, text)] == rows


def test_a_loss_that_is_no_number_is_reported():
    (event,) = events(dialect, FASTAI + "2         nan  nan    0.801000  00:40   \n")
    assert (event.name, event["step"]) == ("train.nan_loss", 2)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Step by step towards a lower loss\n1 2 3 4 5 6 7\n",
        "epoch     train_loss  valid_loss\nand 1 loss\n",
        "epoch     train_loss  valid_loss\n0  0.78\n",
        "epoch     words  shards\n0  781204  12\n",
        FASTAI.partition("\n")[0],
    ],
)
def test_prose_and_tables_of_other_things_give_nothing(text):
    assert records(dialect, text) == []


def test_the_first_line_that_does_not_fit_ends_the_table():
    assert len(measured(dialect, FASTAI + "saved\n7         0.5    0.4    0.9  00:40\n")) == 2
