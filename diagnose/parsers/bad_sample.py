"""Samples that cannot be decoded, and loaders that say how many they left out.

::

    PIL.UnidentifiedImageError: cannot identify image file '/data/train/000412.jpg'
    RuntimeError: Caught DataLossError in DataLoader worker process 3.
    WARNING: skipping corrupt sample 18221

``dataloader.bad_sample``
    An exception of a decoder. ``what``: image, video, audio, record, archive or text; ``path`` and
    ``row`` where the text names them. Warnings of decoders (``Corrupt JPEG data``, ``libpng
    warning``) are none: they decode on.
``dataloader.sample_skipped``
    A sample that was left out, ``count`` of them where the line says so.

*Empty*: all samples were decoded, or the failure has another class: a truncated file may as well
show as ``EOFError``. *Cut off*: a path that is cut is left out.
"""

from diagnose.model.event import Event, Line, Nature
from diagnose.parsers.base import LineParser, Pattern

_PILLOW = "Pillow 6 to 12, PIL/Image.py and ImageFile.py"
_IN_LOADER = (
    "UnidentifiedImageError|DecompressionBombError|JSONDecodeError|UnicodeDecodeError|ReadError|BadGzipFile"
    "|BadZipFile|LZMAError|DataLossError|LibsndfileError|DECORDError|InvalidDataError|ArrowInvalid"
)
"""Classes that mean a damaged sample where a loader meets them; in a program they may mean a setting."""


def _sample(what: str, regex: str, source: str, sample: str) -> Pattern:
    return Pattern(
        event="dataloader.bad_sample",
        regex=regex,
        nature=Nature.ERROR,
        source=source,
        sample=sample,
        types={"row": int},
        constants={"what": what},
    )


def _complete(event: Event, line: Line) -> Event:
    if event.name == "dataloader.bad_sample":
        for name in ("path", "row", "type", "message"):
            event.fields[name] = event.fields.get(name)
    return event


DECODERS = LineParser(
    name="bad-samples",
    title="Samples that cannot be decoded",
    patterns=(
        _sample("image", r"(?P<type>UnidentifiedImageError): (?P<message>cannot identify image file)(?: '(?P<path>[^']+)')?",
                _PILLOW, "PIL.UnidentifiedImageError: cannot identify image file '/data/train/000412.jpg'"),
        _sample("image", r"(?P<type>(?:OS|IO)Error): (?P<message>image file is truncated|[Tt]runcated File Read|broken data stream when reading image file|unrecognized data stream contents when reading image file)",
                _PILLOW, "OSError: image file is truncated (14 bytes not processed)"),
        _sample("image", r"(?P<type>SyntaxError): (?P<message>broken PNG file|not a (?:PNG|TIFF) file)",
                "Pillow 6 to 12, PIL/PngImagePlugin.py", "SyntaxError: broken PNG file (chunk b'\\x00\\x00IH')"),
        _sample("image", r"(?P<type>DecompressionBombError): (?P<message>Image size \(\d+ pixels\) exceeds limit)",
                _PILLOW, "PIL.Image.DecompressionBombError: Image size (324000000 pixels) exceeds limit of 178956970 pixels, could be decompression bomb DOS attack."),
        _sample("image", r"error: \(-215:Assertion failed\) (?P<message>!_src\.empty\(\) in function '(?:cv::)?cvtColor'|!ssize\.empty\(\) in function '(?:cv::)?resize')",
                "OpenCV 3.4 to 4.12, modules/imgproc: imread returned no image", "cv2.error: OpenCV(4.10.0) /io/opencv/modules/imgproc/src/color.cpp:196: error: (-215:Assertion failed) !_src.empty() in function 'cvtColor'"),
        _sample("image", r"(?P<type>RuntimeError): (?P<message>Unsupported image file\. Only)",
                "torchvision io/image/cpu/decode_image.cpp", "RuntimeError: Unsupported image file. Only jpeg, png, webp and gif are currently supported."),
        _sample("audio", r"(?P<type>LibsndfileError): (?P<message>Error (?:opening|in) (?:'(?P<path>[^']+)'|[^:]{1,80}): (?:File contains data in an unknown format|Format not recognised|Unspecified internal error))",
                "python-soundfile 0.10 to 0.13", "soundfile.LibsndfileError: Error opening '/data/clips/0412.flac': Format not recognised."),
        _sample("video", r"(?P<type>InvalidDataError): (?:\[Errno \d+\] )?(?P<message>Invalid data found when processing input)(?:[:;] '(?P<path>[^']+)')?",
                "PyAV 6 to 15, av/error.pyx", "av.error.InvalidDataError: [Errno 1094995529] Invalid data found when processing input: '/data/clips/0412.mp4'"),
        _sample("video", r"(?P<type>DECORDError): (?P<message>.{0,160}(?:cannot find video stream|Invalid data found|Failed to (?:measure|get|decode|seek)|Unable to handle EOF))",
                "decord 0.4 to 0.6", "decord._ffi.base.DECORDError: [10:00:00] /io/decord/src/video/video_reader.cc:151: Check failed: st_nb >= 0 (-1381258232 vs. 0) ERROR cannot find video stream with wanted index: -1"),
        _sample("record", r"(?P<type>DataLossError)\b.{0,60}?(?P<message>(?:corrupted|truncated) record at \d+)",
                "TensorFlow, core/lib/io/record_reader.cc", "tensorflow.python.framework.errors_impl.DataLossError: corrupted record at 12 [Op:IteratorGetNext]"),
        _sample("archive", r"(?P<type>tarfile\.ReadError): (?P<message>unexpected end of data|invalid header|bad checksum|empty header)(?:.{0,20} @ (?P<path>[^\s'\")]+))?",
                "CPython, Lib/tarfile.py; webdataset adds the place", "tarfile.ReadError: unexpected end of data @ /data/shards/train-00017.tar"),
        _sample("text", r"(?P<type>ArrowInvalid): (?P<message>JSON parse error: .{0,160}) in row (?P<row>\d+)",
                "Apache Arrow, cpp/src/arrow/json/parser.cc", "pyarrow.lib.ArrowInvalid: JSON parse error: Missing a closing quotation mark in string. in row 211"),
        _sample("sample", rf"Caught (?P<type>(?:\w+\.)*(?:{_IN_LOADER})) in DataLoader worker process (?P<worker>\d+)",
                "PyTorch, torch/_utils.py, ExceptionWrapper", "json.decoder.JSONDecodeError: Caught JSONDecodeError in DataLoader worker process 2."),
        Pattern(
            event="dataloader.sample_skipped",
            regex=r"\b[Ss]kip(?:ping|ped)(?: over)?(?: (?P<count>\d+))?(?: an?| the)? (?:corrupt(?:ed)?|bad|broken|invalid|unreadable|malformed|damaged) (?:samples?|images?|records?|files?|examples?|lines?|rows?|videos?|clips?|shards?)\b",
            nature=Nature.MEASUREMENT,
            source="common wording of data loaders",
            sample="WARNING: skipping corrupt sample 18221",
            types={"count": int},
            # "skipped" alone is on every iteration line of Megatron-LM.
            literals=(
                " corrupt", " bad ", " broken ", " invalid ", " unreadable ", " malformed ", " damaged ",
            ),
        ),
    ),
    refine=_complete,
)  # fmt: skip

PARSERS = (DECODERS,)
