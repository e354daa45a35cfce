//! The report of one run or two, with a bar that leads back to the list and follows a run.

use crate::shelf::Look;
use base64::Engine as _;
use dyno_page::{Document, Options, PageError, Source};
use dyno_store::ReadRun;
use sha2::{Digest, Sha256};
use std::time::{SystemTime, UNIX_EPOCH};

/// One of the runs of a report.
pub(crate) struct Part {
    /// The directory's name.
    pub(crate) name: String,
    /// What there is of it, or why there is nothing.
    pub(crate) read: Result<(Look, ReadRun), String>,
}

/// A report as it is sent.
pub(crate) struct Report {
    pub(crate) html: String,
    /// What the page may do.
    pub(crate) policy: String,
    pub(crate) json: String,
}

/// Makes the report; `told` makes messages fit to be shown, `bar` is HTML of our own, and under `live` the
/// page finds newer data while a run is measured.
pub(crate) fn make(
    parts: &[Part],
    live: Option<&str>,
    bar: &str,
    told: &dyn Fn(&str) -> String,
) -> Result<Report, PageError> {
    let sources: Vec<Source<'_>> = parts
        .iter()
        .map(|part| match &part.read {
            Ok((look, read)) => Source::Run {
                run: &read.run,
                problems: dyno_store::told(&read.problems)
                    .iter()
                    .map(|p| told(p))
                    .collect(),
                running: look.is_running(),
                check: None,
            },
            Err(reason) => Source::Unreadable {
                name: part.name.clone(),
                reason: reason.clone(),
            },
        })
        .collect();
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let options = Options {
        made_unix_ms: u64::try_from(now.as_millis()).unwrap_or(u64::MAX),
        ..Options::default()
    };
    let document = Document::of(&sources, &options);
    let page = match live {
        Some(address) => dyno_page::render_live(&document, address)?,
        None => dyno_page::render(&document)?,
    };
    Ok(Report {
        policy: policy(&page),
        html: framed(&page, bar),
        json: document.to_json(),
    })
}

/// The page with our bar on top and without the policy that it carries for when it is opened from disk: the
/// one that it is sent with allows our own script besides.
fn framed(page: &str, bar: &str) -> String {
    const POLICY: &str = "<meta http-equiv=\"Content-Security-Policy\"";
    let (before, after) = match page.split_once(POLICY) {
        Some((before, rest)) => (before, rest.split_once('>').map_or("", |(_, after)| after)),
        None => ("", page),
    };
    let (head, body) = after.split_once("<body>").unwrap_or(("", after));
    [before, head, "<body>\n", bar, body].concat()
}

/// Only scripts of this server, and those that the page brings itself. Styles may be inline, because plots
/// set them on their elements.
fn policy(page: &str) -> String {
    let mut scripts = String::from("'self'");
    for script in inline_scripts(page) {
        let hash = Sha256::digest(script.as_bytes());
        scripts += " 'sha256-";
        scripts += &base64::engine::general_purpose::STANDARD.encode(hash);
        scripts.push('\'');
    }
    format!(
        "default-src 'none'; script-src {scripts}; style-src 'self' 'unsafe-inline'; img-src data: blob:; \
         connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
}

/// The texts of the page's scripts, without what is data. Foreign text in the page is escaped, so that
/// every element found is one of the page's own.
fn inline_scripts(page: &str) -> Vec<&str> {
    let mut scripts = Vec::new();
    let mut rest = page;
    while let Some((_, after)) = rest.split_once("<script") {
        let Some((attributes, after)) = after.split_once('>') else {
            break;
        };
        let (text, after) = after.split_once("</script").unwrap_or((after, ""));
        // What names a type is data; ours are plain scripts.
        if !attributes.contains("type=") {
            scripts.push(text);
        }
        rest = after;
    }
    scripts
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "<!doctype html>\n<html>\n<head>\n<meta http-equiv=\"Content-Security-Policy\" \
        content=\"default-src &#x27;none&#x27;\">\n<title>x</title></head>\n<body>\n<h1>x</h1>\
        <script type=\"application/json\" id=\"dyno-data\">{}</script>\n<script>alert(1)</script></body>";

    #[test]
    fn a_page_is_framed_and_keeps_everything_else() {
        let framed = framed(PAGE, "<nav></nav>");
        assert!(!framed.contains("Security-Policy"), "{framed}");
        assert!(framed.starts_with("<!doctype html>\n<html>\n<head>\n\n<title>x</title></head>"));
        assert!(
            framed.contains("<body>\n<nav></nav>\n<h1>x</h1>"),
            "{framed}"
        );
        assert!(framed.ends_with("<script>alert(1)</script></body>"));
    }

    #[test]
    fn only_the_pages_own_scripts_may_run() {
        assert_eq!(inline_scripts(PAGE), ["alert(1)"]);
        // `printf 'alert(1)' | openssl dgst -sha256 -binary | base64`
        let policy = policy(PAGE);
        assert!(
            policy.contains(
                "script-src 'self' 'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI=';"
            ),
            "{policy}"
        );
    }
}
