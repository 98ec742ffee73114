import pytest
from dialects import events, measured, records

from diagnose.parsers import steps_meters as dialect

MIB = 2**20
IMAGENET = "Epoch: [2][140/5005]\tTime 0.412 (0.437)\tData 0.006 (0.021)\tLoss 4.1021 (4.2310)\tPrec@1 21.484 (19.770)"
PADDED = "Epoch: [2][ 140/5005]\tTime  0.412 ( 0.437)\tData  0.006 ( 0.021)\tLoss 4.1021e+00 (4.2310e+00)\tAcc@1  21.48 ( 19.77)"
VISION = "[11:41:33.534863] Epoch: [3]  [ 120/1251]  eta: 0:12:41  lr: 0.000400  loss: 2.8123 (2.9310)  time: 0.6731  data: 0.0044  max mem: 18231"
TIMM = "Train: 3 [ 200/1251 ( 16%)]  Loss: 4.12 (4.31)  Time: 0.412s, 2485.44/s  (0.421s, 2432.30/s)  LR: 5.000e-04  Data: 0.011 (0.019)"
D2 = "[01/05 10:00:00 d2.utils.events]:  eta: 1:23:45  iter: 199  total_loss: 1.912  loss_cls: 0.61  time: 0.2412  last_time: 0.2390  data_time: 0.0121  last_data_time: 0.0054   lr: 0.0039962  max_mem: 4123M"
MM = "2026/01/05 10:00:00 - mmengine - INFO - Epoch(train)  [2][ 100/2930]  lr: 2.0000e-02  eta: 1:02:03  time: 0.4123  data_time: 0.0102  memory: 5123  grad_norm: 4.1000  loss: 1.2100  loss_cls: 0.6100"
MM_ITER = "2026/01/05 10:00:00 - mmengine - INFO - Iter(train) [ 1000/80000]  base_lr: 1.0000e-04 lr: 1.0000e-04  eta: 9:12:01  time: 0.4199  data_time: 0.0099  memory: 5123  loss: 0.9121"


def nan_losses(text):
    return [event for event in events(dialect, text) if event.name == "train.nan_loss"]


@pytest.mark.parametrize(
    "text, step, values",
    [
        (IMAGENET, 2 * 5005 + 140, {"step_time": 0.412, "data_time": 0.006, "loss": 4.1021, "epoch": 2}),
        (PADDED, 2 * 5005 + 140, {"step_time": 0.412, "data_time": 0.006, "loss": 4.1021, "epoch": 2}),
        (VISION, 3 * 1251 + 120, {"step_time": 0.6731, "data_time": 0.0044, "loss": 2.8123, "learning_rate": 4e-4, "memory_peak": 18231 * MIB, "epoch": 3}),
        (TIMM, 3 * 1251 + 200, {"step_time": 0.412, "data_time": 0.011, "loss": 4.12, "samples_per_s": 2485.44, "learning_rate": 5e-4, "epoch": 3}),
        (D2, 199, {"step_time": 0.239, "data_time": 0.0054, "loss": 1.912, "learning_rate": 0.0039962, "memory_peak": 4123 * MIB}),
        (MM, 2930 + 100, {"step_time": 0.4123, "data_time": 0.0102, "loss": 1.21, "grad_norm": 4.1, "memory_peak": 5123 * MIB, "epoch": 2}),
        (MM_ITER, 1000, {"step_time": 0.4199, "data_time": 0.0099, "loss": 0.9121, "memory_peak": 5123 * MIB}),
    ],
)  # fmt: skip
def test_current_values_are_read_and_steps_count_on(text, step, values):
    (record,) = measured(dialect, f"0: {text}\r\n")
    assert record.step == step
    assert {name: record.values[name] for name in values} == pytest.approx(values)


@pytest.mark.parametrize(
    "text",
    [
        "Test: [ 10/196]\tTime  0.412 ( 0.437)\tLoss 4.1021e+00 (4.2310e+00)\n",
        "Epoch: [3] Total time: 0:14:02\n",
        "Epoch: [2][140/5005]\tTi",
        "total_loss: 1.9 was the best so far\n",
        "Train: 3 epochs, Time: 5 s\n",
    ],
)
def test_validation_totals_cut_lines_and_prose_give_nothing(text):
    assert records(dialect, text) == []


def test_a_nan_loss_is_reported():
    assert [e.name for e in nan_losses(IMAGENET.replace("4.1021", "nan"))] == ["train.nan_loss"]


@pytest.mark.parametrize(
    "text, step, values",
    [
        (" 120: 3.5, 4.25 avg, 0.001 rate, 2.5 seconds, 7680 images", 120, {"loss": 3.5, "learning_rate": 0.001, "step_time": 2.5}),
        ("120: 3.5, 4.25 avg loss, 0.001 rate, 2.5 seconds, 7680 images, 9.1 hours left", 120, {"loss": 3.5, "learning_rate": 0.001, "step_time": 2.5}),
        ("[  2]    1440 || B: 5.5 | C: 3.5 | M: 6.5 | T: 15.5 || ETA: 9 days, 3:50:39 || timer: 0.25", 1440, {"epoch": 2, "loss": 15.5, "step_time": 0.25}),
    ],
)  # fmt: skip
def test_detectors_with_layouts_of_their_own(text, step, values):
    (record,) = measured(dialect, text + "\n")
    assert (record.step, record.values) == (step, values)


def test_a_region_without_objects_is_no_nan_loss():
    text = (
        "Region 94 Avg IOU: -nan, Class: -nan, Obj: -nan, No Obj: 0.1, .5R: -nan, .75R: -nan,  count: 0\n"
        " 120: 3.5, 4.25 avg, 0.001 rate, 2.5 seconds, 7680 images\n"
    )
    assert not nan_losses(text)
    (event,) = nan_losses(text + " 121: -nan, nan avg, 0.001 rate, 2.5 seconds, 7744 images\n")
    assert event["step"] == 121


@pytest.mark.parametrize("text, single", [(IMAGENET, True), (TIMM, True), (D2, True), (VISION, False), (MM, False), (MM_ITER, False)])  # fmt: skip
def test_a_time_of_the_last_step_alone_is_told_from_a_mean(text, single):
    found = events(dialect, f"{text}\n{text}\n")
    assert [event.name for event in found] == ["train.single_step_times"] * single
