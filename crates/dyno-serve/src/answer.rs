//! Answers, each with the headers that keep it to itself.

use crate::gate::Refusal;
use crate::places::Place;
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// What may happen in a page of ours: nothing but its form and style sheets of this server.
const PLAIN: &str = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; \
                     frame-ancestors 'none'";

/// Bytes of an answer that are handed over at once. The next ones are when the client has taken them.
const PART: usize = 64 << 10;
/// Seconds after which who was refused for want of time may ask again.
const AGAIN: &str = "5";

/// On every answer. No answer allows another origin anything, so there is no CORS header.
const ALWAYS: [(&str, &str); 6] = [
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("x-frame-options", "DENY"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    // Kept only to be asked for again; see `etag`.
    ("cache-control", "no-cache"),
];

/// One answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    status: StatusCode,
    kind: &'static str,
    body: Bytes,
    /// The content security policy; that of a plain page where there is none.
    policy: Option<String>,
    /// Names this content: who has it is told so instead of getting it again.
    etag: Option<String>,
    location: Option<String>,
}

impl Answer {
    fn new(kind: &'static str, body: impl Into<Bytes>) -> Answer {
        Answer {
            status: StatusCode::OK,
            kind,
            body: body.into(),
            policy: None,
            etag: None,
            location: None,
        }
    }

    pub(crate) fn html(body: impl Into<Bytes>) -> Answer {
        Answer::new("text/html; charset=utf-8", body)
    }

    pub(crate) fn json(body: impl Into<Bytes>) -> Answer {
        Answer::new("application/json", body)
    }

    pub(crate) fn css(body: &'static str) -> Answer {
        Answer::new("text/css; charset=utf-8", body)
    }

    pub(crate) fn javascript(body: &'static str) -> Answer {
        Answer::new("text/javascript; charset=utf-8", body)
    }

    /// A sentence.
    pub(crate) fn text(body: impl Into<Bytes>) -> Answer {
        Answer::new("text/plain; charset=utf-8", body)
    }

    pub(crate) fn nothing() -> Answer {
        Answer::text("").with_status(StatusCode::NO_CONTENT)
    }

    pub(crate) fn refused(refusal: Refusal) -> Answer {
        Answer::text(format!("{}\n", refusal.text)).with_status(refusal.status)
    }

    /// Look there instead; `to` is a path of this server.
    pub(crate) fn elsewhere(to: String) -> Answer {
        let mut answer = Answer::text("").with_status(StatusCode::SEE_OTHER);
        answer.location = Some(to);
        answer
    }

    pub(crate) fn with_status(mut self, status: StatusCode) -> Answer {
        self.status = status;
        self
    }

    pub(crate) fn with_policy(mut self, policy: String) -> Answer {
        self.policy = Some(policy);
        self
    }

    /// `version` names the content among all that this path ever had.
    pub(crate) fn with_version(mut self, version: &str) -> Answer {
        self.etag = Some(format!("\"{version}\""));
        self
    }

    /// The response to a request with these headers, for the connection at that place, which leaves the body out
    /// for HEAD.
    pub(crate) fn into_response(self, asked: &HeaderMap, place: Arc<Place>) -> Response<Body> {
        let known = asked.get(header::IF_NONE_MATCH).map(HeaderValue::as_bytes);
        let unchanged = self
            .etag
            .as_ref()
            .is_some_and(|tag| known == Some(tag.as_bytes()));
        let (status, body) = match unchanged {
            true => (StatusCode::NOT_MODIFIED, Bytes::new()),
            false => (self.status, self.body),
        };
        place.is_owed(body.len());
        let mut response = Response::new(Body { left: body, place });
        *response.status_mut() = status;
        let headers = response.headers_mut();
        for (name, value) in ALWAYS {
            headers.insert(name, HeaderValue::from_static(value));
        }
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.kind));
        let made = [
            (
                header::CONTENT_SECURITY_POLICY,
                self.policy.or_else(|| Some(PLAIN.to_owned())),
            ),
            (header::ETAG, self.etag),
            (header::LOCATION, self.location),
        ];
        for (name, value) in made {
            // All of them are made of ASCII; what were not would be left out.
            if let Some(value) = value.and_then(|v| HeaderValue::try_from(v).ok()) {
                headers.insert(name, value);
            }
        }
        if status == StatusCode::METHOD_NOT_ALLOWED {
            headers.insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        }
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static(AGAIN));
        }
        // What was not read of such a request must not be taken for the next one.
        if matches!(
            status,
            StatusCode::PAYLOAD_TOO_LARGE | StatusCode::METHOD_NOT_ALLOWED
        ) {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

/// The body of an answer, handed over in parts, so that it is seen how the client takes it.
#[derive(Debug)]
pub(crate) struct Body {
    left: Bytes,
    place: Arc<Place>,
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.left.is_empty() {
            return Poll::Ready(None);
        }
        let part = PART.min(self.left.len());
        let part = self.left.split_to(part);
        self.place.has_left(self.left.len());
        Poll::Ready(Some(Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left.len() as u64)
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        self.place.has_left(0);
    }
}
