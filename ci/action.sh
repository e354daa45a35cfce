#!/usr/bin/env bash
# The steps of action.yml, one for each argument. What a later step needs lies in a folder of this use of the action.
set -euo pipefail

work=${DYNO_ACTION:-}

fail() {
    printf '::error title=Dyno::%s\n' "$1"
    exit "${2:-1}"
}

# Puts `dyno` into the PATH of the steps that follow.
install() {
    local version name program
    # A job may use the action for several suites.
    work=$(mktemp -d "${RUNNER_TEMP:?}/dyno-XXXXXX")
    echo "DYNO_ACTION=$work" >>"$GITHUB_ENV"
    case $DYNO in
    release)
        version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$GITHUB_ACTION_PATH/Cargo.toml")
        case $(uname -m) in
        x86_64) name=dyno-$version-amd64 ;;
        aarch64) name=dyno-$version-arm64 ;;
        *) fail "there is no release for $(uname -m); use the input 'dyno: source', which takes cargo" ;;
        esac
        for file in "$name.tar.gz" SHA256SUMS; do
            curl --fail --silent --show-error --location --retry 3 -o "$work/$file" "$RELEASES/download/v$version/$file" ||
                fail "cannot fetch $RELEASES/download/v$version/$file; use the input 'dyno: source', which builds it with cargo"
        done
        (cd "$work" && grep -F " $name.tar.gz" SHA256SUMS | sha256sum --check --strict -) ||
            fail "$name.tar.gz is not what SHA256SUMS says"
        tar -xzf "$work/$name.tar.gz" -C "$work"
        program=$work/$name/bin/dyno
        ;;
    source)
        cargo build --release --locked --features full --manifest-path "$GITHUB_ACTION_PATH/Cargo.toml" --target-dir "$work/target"
        program=$work/target/release/dyno
        ;;
    *)
        program=$(realpath -- "$DYNO")
        ;;
    esac
    "$program" --version || fail "$program does not run; name a program with the input 'dyno'"
    dirname -- "$program" >>"$GITHUB_PATH"
}

# measure CHECKOUT OUT: ends with the code of `dyno run`.
measure() {
    local arguments more
    arguments=(run "$SUITE" --out "$2" --quiet)
    if [[ -n $STACKS ]]; then arguments+=(--stack "$STACKS"); fi
    read -r -d '' -a more <<<"$FURTHER" || true
    # Callers look at its code, which switches `set -e` off.
    cd "$1" || return
    if [[ -n $PREPARE ]]; then bash -euo pipefail -c "$PREPARE" || return; fi
    dyno "${arguments[@]}" "${more[@]}"
}

# Without a run of the base branch the report says why, and the job goes on.
base() {
    local code=0
    cd "$GITHUB_WORKSPACE"
    if ! git fetch --quiet --depth 1 origin "$GITHUB_BASE_REF" 2>"$work/base.log"; then
        why "the base branch $GITHUB_BASE_REF cannot be fetched"
        return
    fi
    git worktree add --quiet --force --detach "$work/base" FETCH_HEAD
    (measure "$work/base" "$work/base-run") >"$work/base.log" 2>&1 || code=$?
    cat "$work/base.log"
    # 4: complete, with trials that failed, which the comparison counts.
    if [[ $code == 0 || $code == 4 ]]; then return; fi
    if [[ $SUITE == *.toml ]] && ! (cd "$work/base" && [[ -e $SUITE ]]); then
        why "the base branch has no such suite: nothing to compare with"
    else
        why "the base branch $GITHUB_BASE_REF could not be measured (code $code)"
    fi
}

why() {
    rm -rf "$work/base-run"
    { echo "No comparison: $1."; echo '```'; tail -n 8 "$work/base.log"; echo '```'; } >"$work/why.md"
    echo "$1" >"$work/why.txt"
    printf '::notice title=Dyno::No comparison: %s\n' "$1"
}

run() {
    local code=0
    (measure "$GITHUB_WORKSPACE" "$work/run") || code=$?
    echo "$code" >"$work/run.code"
    echo "run=$work/run" >>"$GITHUB_OUTPUT"
    if [[ $code != 0 && $code != 4 ]]; then fail "the suite $SUITE could not be measured (code $code); the log says why" "$code"; fi
}

# Writes the report, and the code that the job is to end with.
report() {
    local code=0 end i verdict=none said="no limits were given" details=() run=$work/run
    end=$(cat "$work/run.code")
    cd "$GITHUB_WORKSPACE"
    if [[ -n $LIMITS ]]; then
        dyno check "$run" "$LIMITS" --junit "$work/junit.xml" --format markdown >"$work/check.md" 2>"$work/check.log" || code=$?
        echo "junit=$work/junit.xml" >>"$GITHUB_OUTPUT"
        case $code in
        0) verdict=passed said="all limits pass" ;;
        6) verdict=failed said="**a limit is broken**" ;;
        7) verdict=undecided said="**undecided**: no limit is broken, but not all can be decided" ;;
        *) cat "$work/check.log"; fail "the limits $LIMITS cannot be checked (code $code); the log says why" "$code" ;;
        esac
        if [[ $code != 0 && ! ($code == 7 && $ALLOW_UNDECIDED == true) ]]; then end=$code; fi
        details+=("Limits" "$work/check.md")
    fi
    if [[ -d $work/base-run ]]; then
        local arguments=()
        if [[ $FAIL_ON_SLOWER == true ]]; then arguments=(--fail-on slower); fi
        code=0
        dyno compare "$work/base-run" "$run" --format markdown "${arguments[@]}" >"$work/compare.md" 2>"$work/compare.log" || code=$?
        case $code in
        0) ;;
        7) said+="; whether something is slower than before is undecided" ;;
        8) said+="; **something is slower than on the base branch**" ;;
        *) cat "$work/compare.log"; fail "the runs cannot be compared (code $code); the log says why" "$code" ;;
        esac
        if [[ ($code == 8 && ($end == 0 || $end == 7)) || ($code == 7 && $ALLOW_UNDECIDED != true && $end == 0) ]]; then end=$code; fi
        details+=("Compared with $GITHUB_BASE_REF" "$work/compare.md")
    elif [[ $COMPARE == true ]]; then
        if [[ ! -e $work/why.md ]]; then echo "No comparison: this is no pull request." >"$work/why.md"; fi
        details+=("No comparison" "$work/why.md")
        if [[ $FAIL_ON_SLOWER == true && $ALLOW_UNDECIDED != true && -n ${GITHUB_BASE_REF:-} && $end == 0 ]]; then
            end=7
            cp "$work/why.txt" "$work/end.txt"
        fi
    fi
    if [[ $(cat "$work/run.code") == 4 ]]; then said+="; trials failed"; fi
    dyno show "$run" --format markdown --notes short >"$work/show.md"
    details+=("All figures" "$work/show.md")
    compose "$said" "${details[@]}"
    # GitHub drops a summary above 1 MiB. The last parts are the longest.
    echo "Left out: GitHub shows no summary above 1 MiB. The run directory, the output \`run\` of this action, has all figures." >"$work/out.md"
    for ((i = ${#details[@]} - 1; i > 0 && $(stat -c %s "$work/report.md") > 1048576; i -= 2)); do
        details[i]=$work/out.md
        compose "$said" "${details[@]}"
    done
    cat "$work/report.md" >>"$GITHUB_STEP_SUMMARY"
    echo "$end" >"$work/end.code"
    echo "verdict=$verdict" >>"$GITHUB_OUTPUT"
}

# compose SAID [TITLE FILE]...: writes the report.
compose() {
    printf '<!-- dyno: %s -->\n### Dyno, suite %s: %s\n' "$SUITE" "$SUITE" "$1" >"$work/report.md"
    shift
    while [[ $# != 0 ]]; do
        { printf '\n<details><summary>%s</summary>\n\n' "$1"; cat "$2"; printf '\n\n</details>\n'; } >>"$work/report.md"
        shift 2
    done
}

# Replaces the comment of an earlier run of this suite, not one of a person that begins like it. Without the right to
# comment, the summary has the report.
comment() {
    local number api page found=() body=$work/comment.json
    number=$(jq -r '.pull_request.number' "$GITHUB_EVENT_PATH")
    api=$GITHUB_API_URL/repos/$GITHUB_REPOSITORY/issues
    # A comment has at most 65,536 characters.
    if [[ $(wc -m <"$work/report.md") -gt 65000 ]]; then
        { head -n 2 "$work/report.md"; echo "The report is too long for a comment; the summary of the job has it."; } >"$work/short.md"
        mv "$work/short.md" "$work/report.md"
    fi
    jq --null-input --rawfile body "$work/report.md" '{$body}' >"$body"
    for page in 1 2 3 4 5; do
        if ! ask "$api/$number/comments?per_page=100&page=$page" >"$work/comments.json"; then
            no_comment
            return
        fi
        mapfile -t found < <(jq -r --arg mark "<!-- dyno: $SUITE -->" \
            '.[] | select(.user.type == "Bot" and ((.body // "") | startswith($mark))) | .id' "$work/comments.json")
        if [[ ${#found[@]} != 0 || $(jq length "$work/comments.json") -lt 100 ]]; then break; fi
    done
    if [[ ${#found[@]} != 0 ]]; then
        ask --request PATCH --data "@$body" "$api/comments/${found[0]}" >/dev/null || no_comment
    else
        ask --request POST --data "@$body" "$api/$number/comments" >/dev/null || no_comment
    fi
}

# The token goes through a file descriptor, since others see the arguments of a process.
ask() {
    curl --fail --silent --show-error --retry 2 --header "Accept: application/vnd.github+json" \
        --config <(printf 'header = "Authorization: Bearer %s"\n' "$TOKEN") "$@"
}

no_comment() {
    echo "::notice title=Dyno::No comment: the token may not write to pull requests, as in one from a fork. The job's summary has the report."
}

verdict() {
    local end undecided="undecided: measure longer, or on a quieter machine; the report says what is missing"
    end=$(cat "$work/end.code")
    if [[ -e $work/end.txt ]]; then undecided=$(cat "$work/end.txt"); fi
    case $end in
    0) echo "Dyno: passed" ;;
    4) fail "trials failed; the report says which" 4 ;;
    6) fail "a limit is broken; the report says which" 6 ;;
    7) fail "$undecided" 7 ;;
    8) fail "something is slower than on the base branch; the report says what" 8 ;;
    *) fail "ended with code $end" "$end" ;;
    esac
}

case ${1:-} in
install | base | run | report | comment | verdict) "$1" ;;
*) fail "ci/action.sh takes install, base, run, report, comment or verdict" 2 ;;
esac
