"""Runs ducktape with our own runner, and its session id file in the session's folder.

`python -m harness.session.ducktape_program`.

FENCEPOST_SESSION_NOTES names the folder. ducktape keeps the last session's id there. Its default is
below its working directory, which sessions share.
"""

import faulthandler
import os
import signal
from pathlib import Path

from ducktape.command_line import main
from ducktape.command_line.defaults import ConsoleDefaults

from contract.files import open_to_append
from harness.session.ducktape_session import NOTES
from harness.session.hang import DRIVER_STACKS
from harness.session.runner import install

install()  # Also where a process that multiprocessing starts without a fork imports this module.

if NOTES in os.environ:
    stacks = open_to_append(Path(os.environ[NOTES], DRIVER_STACKS))
    faulthandler.register(signal.SIGQUIT, file=stacks)

if __name__ == "__main__":
    notes = Path(os.environ[NOTES])
    ConsoleDefaults.METADATA_DIR = str(notes)
    ConsoleDefaults.SESSION_ID_FILE = str(notes / "session_id")
    main.main()
