#!/usr/bin/env bash
# Installs Fencepost from PACKAGE, a wheel, a folder or a name, and puts `fencepost` on the PATH of later steps.
set -euo pipefail

environment="$RUNNER_TEMP/fencepost"
python3 -m venv "$environment"
"$environment/bin/pip" install --quiet --disable-pip-version-check "$PACKAGE"
echo "$environment/bin" >>"$GITHUB_PATH"
version=$("$environment/bin/fencepost" --version)
echo "version=${version#fencepost }" >>"$GITHUB_OUTPUT"

# Ubuntu allows user namespaces, which the embedded pool needs, to programs that have a profile only.
setting=kernel.apparmor_restrict_unprivileged_userns
if [ "$(sysctl -n "$setting" 2>/dev/null)" = 1 ]; then
    sudo sysctl -w "$setting=0"
fi
