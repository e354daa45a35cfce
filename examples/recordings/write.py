#!/usr/bin/env python3
"""Writes the recordings of this folder: a made-up second of traffic, the same each time but for the date in drive.asc.

    pip install python-can==4.6.1 cantools==45.1.0
    python3 write.py

python-can writes drive.log (candump) and drive.asc (Vector ASC), cantools writes drive.dbc. drive.csv has topics of a ROS system.
"""

import random
from pathlib import Path

import can
import cantools

HERE = Path(__file__).parent
START = 1_700_000_000.0


def frames():
    """One second of a CAN bus."""
    rng = random.Random(47)

    def cycle(ms, jitter_ms, **of):
        for n in range(1000 // ms):
            yield can.Message(
                timestamp=START + n * ms / 1e3 + rng.uniform(0, jitter_ms) / 1e3,
                channel="can0",
                **of,
            )

    data = [
        *cycle(20, 1, arbitration_id=0x0C8, is_extended_id=False, data=bytes(8)),
        *cycle(100, 5, arbitration_id=0x123, is_extended_id=False, data=bytes(2)),
        *cycle(50, 2, arbitration_id=0x2A0, is_extended_id=False, is_fd=True, bitrate_switch=True, data=bytes(16)),
    ]
    for _ in range(12):
        data.append(
            can.Message(
                timestamp=START + rng.uniform(0, 1),
                channel="can0",
                arbitration_id=0x18FEF100,
                is_extended_id=True,
                data=bytes(rng.choice([3, 8])),
            )
        )
    data.append(can.Message(timestamp=START + 0.5, channel="can0", arbitration_id=0x400, is_extended_id=False, data=b"\0"))
    data.append(can.Message(timestamp=START + 0.6, channel="can0", arbitration_id=0x401, is_extended_id=False, is_remote_frame=True, dlc=8))
    data.append(can.Message(timestamp=START + 0.7, channel="can0", is_error_frame=True))
    return sorted(data, key=lambda message: message.timestamp)


def logs():
    for name in ("drive.log", "drive.asc"):
        with can.Logger(HERE / name) as logger:
            for frame in frames():
                if name.endswith(".asc"):
                    frame.channel = 0
                logger.on_message_received(frame)


def description():
    text = """VERSION ""

NS_ :

BS_:

BU_: Gateway Engine

BO_ 200 EngineSpeed: 8 Engine
 SG_ Speed : 0|16@1+ (0.25,0) [0|16383.75] "rpm" Gateway

BO_ 291 Doors: 2 Gateway
 SG_ Open : 0|4@1+ (1,0) [0|15] "" Engine

BO_ 2566844672 VehicleSpeed: 8 Vector__XXX
 SG_ Speed : 8|16@1+ (0.00390625,0) [0|250.996] "km/h" Gateway

BO_ 1024 Reset: 1 Gateway

BA_DEF_ BO_ "GenMsgCycleTime" INT 0 65535;
BA_DEF_DEF_ "GenMsgCycleTime" 0;
BA_ "GenMsgCycleTime" BO_ 200 20;
BA_ "GenMsgCycleTime" BO_ 291 100;
BA_ "GenMsgCycleTime" BO_ 2566844672 100;
"""
    database = cantools.database.load_string(text, "dbc")
    # cantools ends lines with CR LF, and sorts messages.
    (HERE / "drive.dbc").write_text(database.as_dbc_string(), newline="")


def topics():
    rows = []
    for group in range(10):
        rows += [(group * 100_000_000 + n * 40_000, "/lidar/packets", 1206) for n in range(4)]
    rows += [(n * 50_000_000 + 7_000, "/pose", 120) for n in range(20)]
    rows.append((0, "/map", 400_000))
    rows.sort()
    lines = ["time_ns,topic,size"] + [f"{time},{topic},{size}" for time, topic, size in rows]
    (HERE / "drive.csv").write_text("\n".join(lines) + "\n")


logs()
description()
topics()
