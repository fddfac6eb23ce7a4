"""`python -m analysis RUN...`: judge runs and write their reports."""

from analysis.cli import app
from contract.program import run_program

run_program(app)
