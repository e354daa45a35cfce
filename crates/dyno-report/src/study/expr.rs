//! The language of cells: text with `{expression:format}` and `{?condition}` in it. Parsing only; nothing here knows a run.

/// A text with figures in it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Template(pub(crate) Vec<Piece>);

/// A part of a template.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Piece {
    /// As it is.
    Text(String),
    /// A value.
    Show(Expr, Form),
    /// Shows nothing; where the condition does not hold, the template does not apply.
    If(Expr),
}

/// What a value is computed from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expr {
    /// `1024`.
    Number(f64),
    /// `"8 B"`.
    Text(String),
    /// `rtt_ns.p50`.
    Name(Vec<String>),
    /// `printed("latency", size)`.
    Call(String, Vec<Expr>),
    /// `a - b`.
    Binary(Op, Box<Expr>, Box<Expr>),
}

/// What joins two values. A comparison that does not hold has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    Add,
    Subtract,
    Multiply,
    Divide,
    Less,
    More,
    AtLeast,
    Equal,
    Unequal,
}

/// How a value is shown.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Form {
    /// With `+` before what is not negative.
    pub(crate) signed: bool,
    pub(crate) kind: Kind,
    /// Behind the number, where its kind has one.
    pub(crate) unit: String,
}

/// The kinds of formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Text as it is, a number with three digits, a quantile as time with its interval.
    Plain,
    /// Nanoseconds as a time with its unit, without an interval.
    Time,
    /// A share of one as a percentage.
    Share,
    /// The same with one decimal place.
    Percent,
    /// Three significant digits, with the interval where there is one.
    Digits,
    /// Three significant digits with a decimal prefix before the unit.
    Prefix,
    /// Without decimal places.
    Whole,
}

/// The names of formats.
pub(crate) const KINDS: [(&str, Kind); 6] = [
    ("time", Kind::Time),
    ("share", Kind::Share),
    ("percent", Kind::Percent),
    ("digits", Kind::Digits),
    ("prefix", Kind::Prefix),
    ("whole", Kind::Whole),
];

/// What is wrong in a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mistake {
    pub(crate) message: String,
    pub(crate) help: String,
}

impl std::fmt::Display for Mistake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}; {}", self.message, self.help)
    }
}

fn mistake(message: impl Into<String>, help: impl Into<String>) -> Mistake {
    Mistake {
        message: message.into(),
        help: help.into(),
    }
}

impl Template {
    /// From the text of a study file.
    pub(crate) fn parse(text: &str) -> Result<Template, Mistake> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            if open > 0 {
                pieces.push(Piece::Text(rest[..open].to_owned()));
            }
            let inner = &rest[open + 1..];
            let Some(close) = outside_quotes(inner, '}') else {
                return Err(mistake(
                    format!("`{}` is not closed", &rest[open..]),
                    "write `}` behind the expression",
                ));
            };
            pieces.push(piece(&inner[..close])?);
            rest = &inner[close + 1..];
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.to_owned()));
        }
        Ok(Template(pieces))
    }

    /// Its text without figures.
    pub(crate) fn plain(&self) -> String {
        let text = |piece: &Piece| match piece {
            Piece::Text(text) => Some(text.clone()),
            Piece::Show(..) | Piece::If(_) => None,
        };
        self.0.iter().filter_map(text).collect()
    }

    /// Every expression in it.
    pub(crate) fn expressions(&self) -> impl Iterator<Item = &Expr> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Show(e, _) | Piece::If(e) => Some(e),
            Piece::Text(_) => None,
        })
    }
}

/// The place of the first `wanted` that stands in no quotes.
fn outside_quotes(text: &str, wanted: char) -> Option<usize> {
    let mut quoted = false;
    text.char_indices().find_map(|(i, c)| {
        quoted ^= c == '"';
        (!quoted && c == wanted).then_some(i)
    })
}

fn piece(inner: &str) -> Result<Piece, Mistake> {
    if let Some(condition) = inner.strip_prefix('?') {
        return Ok(Piece::If(Expr::parse(condition)?));
    }
    let (value, form) = match outside_quotes(inner, ':') {
        Some(at) => (&inner[..at], form(&inner[at + 1..])?),
        None => (inner, form("")?),
    };
    Ok(Piece::Show(Expr::parse(value)?, form))
}

fn form(text: &str) -> Result<Form, Mistake> {
    let (signed, text) = match text.strip_prefix('+') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (name, unit) = text.split_once(' ').unwrap_or((text, ""));
    let kind = match KINDS.iter().find(|(known, _)| *known == name) {
        Some((_, kind)) => *kind,
        None if name.is_empty() => Kind::Plain,
        None => {
            let names = KINDS.map(|(name, _)| name);
            return Err(mistake(
                format!("there is no format `{name}`"),
                dyno_toml::suggest::instead(name, "formats", names),
            ));
        }
    };
    Ok(Form {
        signed,
        kind,
        unit: unit.to_owned(),
    })
}

impl Expr {
    /// From the text between braces, or of a key that takes an expression.
    pub(crate) fn parse(text: &str) -> Result<Expr, Mistake> {
        let mut parser = Parser {
            text,
            tokens: tokens(text)?,
            at: 0,
        };
        let expr = parser.comparison()?;
        match parser.peek() {
            None => Ok(expr),
            Some(_) => Err(parser.unexpected()),
        }
    }

    /// This and every expression in it.
    pub(crate) fn walk<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr)) {
        visit(self);
        match self {
            Expr::Call(_, arguments) => arguments.iter().for_each(|a| a.walk(visit)),
            Expr::Binary(_, a, b) => {
                a.walk(visit);
                b.walk(visit);
            }
            Expr::Number(_) | Expr::Text(_) | Expr::Name(_) => {}
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Number(f64),
    Text(String),
    Name(String),
    Sign(&'static str),
}

/// Words and signs of one expression; so deep it can be nested.
const LONGEST: usize = 200;

const SIGNS: [&str; 11] = ["!=", ">=", "+", "-", "*", "/", "<", ">", "=", "(", ")"];

fn tokens(text: &str) -> Result<Vec<Token>, Mistake> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    while let Some(first) = rest.chars().next() {
        let word = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        let length = if first == '"' {
            let Some(end) = rest[1..].find('"') else {
                return Err(mistake(
                    format!("the quotes of `{rest}` are not closed"),
                    "write \" behind the text",
                ));
            };
            tokens.push(Token::Text(rest[1..=end].to_owned()));
            end + 2
        } else if first.is_ascii_digit() {
            let number = rest[..word].parse().map_err(|_| {
                mistake(
                    format!("`{}` is no number", &rest[..word]),
                    "write for example `1024` or `0.5`",
                )
            })?;
            tokens.push(Token::Number(number));
            word
        } else if first.is_ascii_alphabetic() {
            tokens.push(Token::Name(rest[..word].to_owned()));
            word
        } else if first == ',' {
            tokens.push(Token::Sign(","));
            1
        } else if let Some(sign) = SIGNS.iter().find(|s| rest.starts_with(**s)) {
            tokens.push(Token::Sign(sign));
            sign.len()
        } else {
            return Err(mistake(
                format!("`{first}` cannot stand in `{text}`"),
                "an expression has names, numbers, texts in quotes, + - * /, comparisons and parentheses",
            ));
        };
        rest = rest[length..].trim_start();
        if tokens.len() > LONGEST {
            return Err(mistake(
                format!("an expression has at most {LONGEST} words and signs"),
                "split it into several cells, or shorten it",
            ));
        }
    }
    Ok(tokens)
}

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<Token>,
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn unexpected(&self) -> Mistake {
        let text = self.text.trim();
        mistake(
            format!("`{text}` is no expression"),
            "write for example `rtt_ns.p99 - rtt_ns.p50`; text in quotes, arguments in parentheses",
        )
    }

    /// One of these signs, which is taken.
    fn sign(&mut self, signs: &[(&str, Op)]) -> Option<Op> {
        let Some(Token::Sign(found)) = self.peek() else {
            return None;
        };
        let op = signs.iter().find(|(sign, _)| sign == found)?.1;
        self.at += 1;
        Some(op)
    }

    fn comparison(&mut self) -> Result<Expr, Mistake> {
        let signs = [
            ("<", Op::Less),
            (">", Op::More),
            (">=", Op::AtLeast),
            ("=", Op::Equal),
            ("!=", Op::Unequal),
        ];
        self.joined(&signs, Parser::sum)
    }

    fn sum(&mut self) -> Result<Expr, Mistake> {
        self.joined(&[("+", Op::Add), ("-", Op::Subtract)], Parser::product)
    }

    fn product(&mut self) -> Result<Expr, Mistake> {
        self.joined(&[("*", Op::Multiply), ("/", Op::Divide)], Parser::one)
    }

    fn joined(
        &mut self,
        signs: &[(&str, Op)],
        part: fn(&mut Self) -> Result<Expr, Mistake>,
    ) -> Result<Expr, Mistake> {
        let mut left = part(self)?;
        while let Some(op) = self.sign(signs) {
            left = Expr::Binary(op, Box::new(left), Box::new(part(self)?));
        }
        Ok(left)
    }

    fn takes(&mut self, sign: &str) -> bool {
        let is_it = matches!(self.peek(), Some(Token::Sign(found)) if *found == sign);
        self.at += usize::from(is_it);
        is_it
    }

    fn one(&mut self) -> Result<Expr, Mistake> {
        let token = self.peek().cloned().ok_or_else(|| self.unexpected())?;
        self.at += 1;
        match token {
            Token::Number(v) => Ok(Expr::Number(v)),
            Token::Text(text) => Ok(Expr::Text(text)),
            Token::Name(name) if self.takes("(") => Ok(Expr::Call(name, self.arguments()?)),
            Token::Name(name) => Ok(Expr::Name(name.split('.').map(str::to_owned).collect())),
            Token::Sign("(") => {
                let inner = self.comparison()?;
                if !self.takes(")") {
                    return Err(self.unexpected());
                }
                Ok(inner)
            }
            Token::Sign(_) => Err(self.unexpected()),
        }
    }

    fn arguments(&mut self) -> Result<Vec<Expr>, Mistake> {
        let mut arguments = Vec::new();
        while !self.takes(")") {
            if !arguments.is_empty() && !self.takes(",") {
                return Err(self.unexpected());
            }
            arguments.push(self.comparison()?);
        }
        Ok(arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Expr {
        Expr::Name(text.split('.').map(str::to_owned).collect())
    }

    #[test]
    fn products_bind_closer_than_sums_and_sums_than_comparisons() {
        let expr = Expr::parse("a.b - 2 * c > 0").unwrap();
        let product = Expr::Binary(
            Op::Multiply,
            Box::new(Expr::Number(2.0)),
            Box::new(name("c")),
        );
        let sum = Expr::Binary(Op::Subtract, Box::new(name("a.b")), Box::new(product));
        let wanted = Expr::Binary(Op::More, Box::new(sum), Box::new(Expr::Number(0.0)));
        assert_eq!(expr, wanted);
    }

    #[test]
    fn a_template_has_text_conditions_and_values_with_their_formats() {
        let template = Template::parse("{?a < 1}× {f(\"{:}\", b):+prefix /s} end").unwrap();
        let form = Form {
            signed: true,
            kind: Kind::Prefix,
            unit: "/s".into(),
        };
        let call = Expr::Call("f".into(), vec![Expr::Text("{:}".into()), name("b")]);
        let condition = Expr::Binary(Op::Less, Box::new(name("a")), Box::new(Expr::Number(1.0)));
        let wanted = [
            Piece::If(condition),
            Piece::Text("× ".into()),
            Piece::Show(call, form),
            Piece::Text(" end".into()),
        ];
        assert_eq!(template.0, wanted);
    }

    #[test]
    fn a_mistake_says_what_to_write() {
        for (text, says) in [
            ("{a", "`{a` is not closed"),
            ("{a:tmie}", "there is no format `tmie`"),
            ("{a +}", "`a +` is no expression"),
            ("{a b}", "`a b` is no expression"),
            ("{f(a b)}", "`f(a b)` is no expression"),
            ("{(a}", "`(a` is no expression"),
            ("{1.2.3}", "`1.2.3` is no number"),
            (&format!("{{{}}}", "(".repeat(100_000)), "at most 200"),
            ("{a ; b}", "`;` cannot stand in `a ; b`"),
            ("{\"a}", "is not closed"),
        ] {
            let found = Template::parse(text).unwrap_err();
            assert!(found.message.contains(says), "{text}: {found:?}");
            assert!(!found.help.is_empty());
        }
        let found = Template::parse("{a:tmie}").unwrap_err();
        assert!(found.help.starts_with("did you mean `time`?"), "{found:?}");
    }
}
