#!/usr/bin/env bash
# Runs SUITE on CLUSTER below RESULTS, with the further ARGUMENTS of `fencepost nightly`; then shows the
# summary and annotates. Ends with the exit code of the night.
set -uo pipefail

read -ra arguments <<<"$ARGUMENTS"
summaries() { find "$RESULTS/nightly" -path '*/report/summary.md' 2>/dev/null | sort; }
earlier=$(summaries)
fencepost nightly --suite "$SUITE" --cluster "$CLUSTER" --results "$RESULTS" --fresh "${arguments[@]}"
code=$?
echo "exit-code=$code" >>"$GITHUB_OUTPUT"

# A night that did not begin, or was not judged, has none.
summary=$(comm -13 <(echo "$earlier") <(summaries) | head -n 1)
if [ -n "$summary" ]; then
    cat "$summary" >>"$GITHUB_STEP_SUMMARY"
    night=$(dirname "$(dirname "$summary")")
    echo "night=$night" >>"$GITHUB_OUTPUT"
    python3 "$(dirname "$0")/annotate.py" "$night" "$SUITE"
else
    echo "::error title=fencepost::the night was not judged, exit code $code"
fi
exit "$code"
