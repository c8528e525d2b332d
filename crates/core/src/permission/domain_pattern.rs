//! Host patterns of rules: `domain:example.com`, `domain:*.example.com`.

/// Which hosts a rule concerns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DomainPattern {
    domain: Box<str>,
    itself: bool,
}

impl DomainPattern {
    /// Reads the text inside the parentheses; the error says what is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let domain =
            text.strip_prefix("domain:").ok_or("write `domain:` and a host, as in `domain:example.com`")?;
        let domain = domain.trim();
        let (itself, domain) = match domain.strip_prefix("*.") {
            Some(domain) => (false, domain),
            None => (true, domain),
        };
        let domain = domain.strip_suffix('.').unwrap_or(domain);
        if domain.is_empty() {
            return Err("the domain is missing".into());
        }
        if domain.contains('*') {
            return Err("`*` may only stand alone before the first dot, as in `domain:*.example.com`".into());
        }
        if !domain.is_ascii() {
            return Err(format!("write `{domain}` in its ASCII form, which begins with `xn--`"));
        }
        let is_address = domain.starts_with('[') && domain.ends_with(']');
        if domain.contains(['/', '@', ' ']) || (domain.contains(':') && !is_address) {
            return Err(format!("`{domain}` is not a host: leave scheme, port and path away"));
        }
        Ok(Self { domain: domain.to_ascii_lowercase().into(), itself })
    }

    /// Whether `host` is the domain or lies below it.
    pub(super) fn matches(&self, host: &str) -> bool {
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        match host.strip_suffix(&*self.domain) {
            Some("") => self.itself,
            Some(below) => below.ends_with('.') && below.len() > 1,
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_covers_itself_and_what_lies_below() {
        for (pattern, host, expected) in [
            ("domain:example.com", "example.com", true),
            ("domain:Example.COM", "docs.example.com", true),
            ("domain:example.com", "example.com.", true),
            ("domain:example.com", "notexample.com", false),
            ("domain:example.com", "example.com.evil.net", false),
            ("domain:*.example.com", "example.com", false),
            ("domain:*.example.com", "a.b.example.com", true),
            ("domain:*.example.com", ".example.com", false),
            ("domain:[::1]", "[::1]", true),
        ] {
            assert_eq!(DomainPattern::parse(pattern).unwrap().matches(host), expected, "{pattern} {host}");
        }
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for text in [
            "example.com",
            "domain:",
            "domain:*",
            "domain:a.*.com",
            "domain:http://x.y",
            "domain:x:80",
            "domain:bücher.de",
        ] {
            assert!(DomainPattern::parse(text).is_err(), "{text}");
        }
    }
}
