#![doc = include_str!("../README.md")]

/// The stylesheet of every page.
pub const STYLE: &str = include_str!("style.css");

/// The script of the copy button.
pub const COPY: &str = include_str!("copy.js");

/// uPlot 1.6.32, which draws charts: `dist/uPlot.iife.min.js` of its package on npm, unchanged.
pub const CHART: &str = include_str!("uplot.js");

/// The mark of all pages, as a browser shows it beside a title.
pub const MARK: &str = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='4' fill='%235b50e0'/%3E%3Cpath d='M4 8.5l2.5 2.5L12 5.5' fill='none' stroke='white' stroke-width='2'/%3E%3C/svg%3E";

/// A hash or an address as it is shown: its beginning and its end.
pub fn short(text: &str) -> String {
    let count = text.chars().count();
    if count <= 16 {
        return text.to_owned();
    }
    let ends = text.chars().take(8).chain(['…']).chain(text.chars().skip(count.saturating_sub(6)));
    ends.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest as _, Sha256};

    /// Of the file in the package that npm has for this version.
    const PINNED: &str = "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f";

    #[test]
    fn the_chart_library_is_the_one_that_is_named_with_its_licence() {
        assert_eq!(hex::encode(Sha256::digest(CHART)), PINNED);
        assert!(CHART.starts_with("/*! https://github.com/leeoniya/uPlot (v1.6.32) */"));
        let licence = include_str!("uplot.LICENSE");
        assert!(licence.starts_with("The MIT License (MIT)") && licence.contains("Leon Sorokin"));
        let told = include_str!("../README.md");
        assert!(told.contains("uPlot](https://github.com/leeoniya/uPlot) 1.6.32"), "{told}");
    }

    /// A policy of `'self'` alone has no place for what is loaded from elsewhere or made of text.
    #[test]
    fn nothing_here_loads_from_elsewhere_or_runs_text() {
        for text in [STYLE, COPY] {
            for forbidden in ["http:", "https:", "@import", "url(", "eval", "innerHTML"] {
                assert!(!text.contains(forbidden), "{forbidden}");
            }
        }
        for forbidden in ["eval(", "Function(", "innerHTML=\"<"] {
            assert!(!CHART.contains(forbidden), "{forbidden}");
        }
    }

    #[test]
    fn an_address_is_shown_by_its_ends() {
        assert_eq!(short("0x05884460A5CD583F37b868D30CDC36Cac57c1Bc7"), "0x058844…7c1Bc7");
        assert_eq!(short("SUB38B59A38384"), "SUB38B59A38384");
    }
}
