#!/usr/bin/env bash
# Runs the conformance suite for the client that CLIENT_COMMAND is the program around, on CLUSTER below RESULTS,
# with the further ARGUMENTS of `fencepost conform`; then shows the cells. Ends with the exit code of the job.
set -uo pipefail

read -ra arguments <<<"$ARGUMENTS"
if [ -n "$FEATURES" ]; then arguments+=(--features "$FEATURES"); fi
if [ -n "$EXPECTED" ]; then arguments+=(--expected "$EXPECTED"); fi
pages() { find "$RESULTS" -maxdepth 2 -path '*/conform-*/conform.md' 2>/dev/null | sort; }
earlier=$(pages)
fencepost conform --client-command "$CLIENT_COMMAND" --cluster "$CLUSTER" --results "$RESULTS" "${arguments[@]}"
code=$?
echo "exit-code=$code" >>"$GITHUB_OUTPUT"

# A job that did not begin has none.
found=$(comm -13 <(echo "$earlier") <(pages) | head -n 1)
if [ -n "$found" ]; then
    cat "$found" >>"$GITHUB_STEP_SUMMARY"
    echo "job=$(dirname "$found")" >>"$GITHUB_OUTPUT"
else
    echo "::error title=fencepost::the client was not judged, exit code $code"
fi
exit "$code"
