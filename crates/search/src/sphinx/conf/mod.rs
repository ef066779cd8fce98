//! An existing `sphinx.conf`: its sources and indexes, and what of them isn't obeyed.
//!
//! In: the file's text. Out: a [`Conf`] with [`Source`]s, [`IndexConf`]s, and a [`Remark`] for
//! each line that says more than Wick does.
//! Law: the configuration of Sphinx 2.2: sections with inheritance, values that go on after a
//! backslash, keys that may stand several times.
//! Invariant: no line is passed over in silence but those that only say how Sphinx does its work
//! (`docinfo`, `mem_limit`, `workers` and their like).

mod index;
mod listen;
mod sections;
mod source;

pub use index::{IndexConf, IndexKind};
pub use listen::{Listen, NotHeard, read_listen};
pub use sections::ConfError;
pub use source::{Joined, Multi, MultiFrom, Source, SourceKind};

use sections::Section;

/// A file that was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conf {
    /// Where documents come from.
    pub sources: Vec<Source>,
    /// What is made of them.
    pub indexes: Vec<IndexConf>,
    /// Where searchd listens.
    pub listen: Vec<Listen>,
    /// What isn't obeyed.
    pub remarks: Vec<Remark>,
}

/// A line that isn't obeyed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// Its number, from 1.
    pub line: usize,
    /// Its key.
    pub key: String,
    /// What is done instead.
    pub why: &'static str,
}

/// The longest name of an index.
const NAME_BYTES_MAX: usize = 64;

/// Reads a file.
///
/// # Errors
/// It isn't one, or names what it doesn't have.
pub fn read(text: &str) -> Result<Conf, ConfError> {
    let sections = sections::read(text)?;
    let mut conf = Conf::default();
    for section in &sections {
        match section.kind.as_str() {
            // One that only others are like has no query.
            "source" if section.text("sql_query").is_none() && !is_used(&sections, section) => {}
            "source" => conf.sources.push(source::read(section, &mut conf.remarks)?),
            "index" => conf.indexes.push(index::read(section, &mut conf.remarks)?),
            "searchd" => listen::read(section, &mut conf)?,
            // How indexer does its work.
            _ => {}
        }
    }
    for index in &conf.indexes {
        let (line, name) = (section_line(&sections, &index.name), &index.name);
        // They become names of folders.
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if !name.bytes().all(is_name) || name.len() > NAME_BYTES_MAX {
            let what = format!(
                "index {name}: a name is of letters, digits, _ and -, up to {NAME_BYTES_MAX} of them"
            );
            return Err(ConfError { line, what });
        }
    }
    for section in &sections {
        let Some(index) = conf.indexes.iter().find(|index| index.name == section.name) else {
            continue;
        };
        let missing = index.sources.iter().find(|name| conf.source(name).is_none());
        if section.kind == "index"
            && let Some(missing) = missing
        {
            let what =
                format!("index {} names the source {missing}, which isn't there", index.name);
            return Err(ConfError { line: section.line, what });
        }
    }
    // A remark on a parent's line is made once for each child.
    conf.remarks.sort_by(|one, other| (one.line, &one.key).cmp(&(other.line, &other.key)));
    conf.remarks.dedup();
    Ok(conf)
}

impl Conf {
    /// A source by its name.
    #[must_use]
    pub fn source(&self, name: &str) -> Option<&Source> {
        self.sources.iter().find(|source| source.name == name)
    }
}

/// Whether an index is made of a source.
fn is_used(sections: &[Section], source: &Section) -> bool {
    let mut indexes = sections.iter().filter(|one| one.kind == "index");
    indexes.any(|index| index.all("source").any(|value| value.text == source.name))
}

fn section_line(sections: &[Section], index: &str) -> usize {
    let found = sections.iter().find(|one| one.kind == "index" && one.name == index);
    found.map_or(0, |section| section.line)
}

/// Remarks on each key of `section` that stands in `table`, and on those that nobody knows.
fn remark(
    section: &Section,
    table: &[(&str, &'static str)],
    known: &[&str],
    remarks: &mut Vec<Remark>,
) {
    for value in &section.values {
        if !known.contains(&value.key.as_str()) && table.iter().all(|(key, _)| *key != value.key) {
            let why = "there is no such setting in Sphinx 2.2; nothing is done about it";
            remarks.push(Remark { line: value.line, key: value.key.clone(), why });
            continue;
        }
        let found = table.iter().find(|(key, _)| *key == value.key);
        if let Some((_, why)) = found
            && !value.text.is_empty()
            && value.text != "0"
            && value.text != "none"
        {
            remarks.push(Remark { line: value.line, key: value.key.clone(), why });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As phpBB generates it, shortened.
    const BOARD: &str = r"
source source_board_main
{
	type = mysql # mysql or pgsql
	sql_host = localhost
	sql_user = board
	sql_pass = s3cret
	sql_db = board
	sql_port = 3306
	sql_query_pre = SET NAMES 'utf8'
	sql_query_pre = UPDATE sphinx SET max_doc_id = MAX(post_id) WHERE counter_id = 1
	sql_query_range = SELECT MIN(post_id), MAX(post_id) FROM posts
	sql_range_step = 5000
	sql_query = SELECT \
			p.post_id AS id, \
			p.forum_id, \
			p.post_subject AS title, p.post_text AS data \
		FROM posts p \
		WHERE p.post_id >= $start AND p.post_id <= $end
	sql_query_post =
	sql_query_post_index = UPDATE sphinx SET max_doc_id = $maxid WHERE counter_id = 1
	sql_attr_uint = forum_id
	sql_attr_uint = flags:3
	sql_attr_bool = deleted
	sql_attr_timestamp = post_time
	sql_attr_string = post_subject
	sql_attr_multi = uint tags from query; SELECT post_id, tag FROM tags
	sql_joined_field = comments from query; SELECT post_id, text FROM comments ORDER BY post_id
}
source source_board_delta : source_board_main
{
	sql_query_pre = SET NAMES 'utf8'
	sql_query_range =
	sql_query = SELECT * FROM posts WHERE post_id > ( SELECT max_doc_id FROM sphinx )
	sql_query_post_index =
	sql_query_killlist = SELECT id FROM gone
	sql_querry_info = SELECT 1
}
index index_board_main
{
	path = /var/lib/x
	source = source_board_main
	docinfo = extern
	morphology = none
	stopwords = /etc/words
	charset_table = 0..9, A..Z->a..z, _, a..z, U+C9->e, U+E9->e
	ignore_chars = U+0027, U+002C
	blend_chars = U+23
	min_prefix_len = 3
	html_strip = 1
}
index index_board_delta : index_board_main
{
	path = /var/lib/y
	source = source_board_delta
}
index live { type = rt
 rt_field = title
 rt_attr_bool = first
 rt_attr_uint = forum_id }
searchd { listen = 127.0.0.1:9312
 listen = 9306:mysql41
 listen = /run/sphinx.sock:mysql41 }
";

    #[test]
    fn a_boards_file_is_read() {
        let conf = read(BOARD).unwrap();
        let main = conf.source("source_board_main").unwrap();
        assert_eq!(main.kind, SourceKind::MySql);
        assert_eq!(main.user, "board");
        assert_eq!(main.password.reveal(), "s3cret");
        assert_eq!(main.queries_before.len(), 2);
        assert_eq!(main.range_step, 5000);
        assert!(main.query.starts_with("SELECT p.post_id AS id, p.forum_id,"), "{}", main.query);
        assert_eq!(main.multi[0].name, "tags");
        assert_eq!(main.joined[0].name, "comments");
        assert_eq!(main.attributes.len(), 5);
        assert_eq!(main.attributes[1].0, "flags");
        let delta = conf.source("source_board_delta").unwrap();
        assert_eq!(delta.user, "board");
        assert_eq!((delta.queries_before.len(), delta.range.is_none()), (1, true));
        assert_eq!(delta.query_after_index, None);
        assert_eq!(delta.attributes, main.attributes);
        let index = &conf.indexes[1];
        assert_eq!(index.sources, ["source_board_delta"]);
        assert_eq!((index.min_prefix, index.strips_html), (Some(3), true));
        assert_eq!((index.ignored.as_str(), index.word_characters.as_str()), ("',", "_"));
        assert!(index.has_folding && !index.has_stems);
        let live = &conf.indexes[2];
        assert_eq!(live.kind, IndexKind::Realtime);
        let names: Vec<_> = live.attributes.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["forum_id", "first"]);
        let said: Vec<_> = conf.remarks.iter().map(|remark| remark.key.as_str()).collect();
        assert_eq!(said, ["sql_querry_info", "stopwords", "blend_chars", "listen"]);
        assert_eq!(delta.killlist.as_deref(), Some("SELECT id FROM gone"));
        assert_eq!(delta.parents, ["source_board_main"]);
        let doors: Vec<_> = conf.listen.iter().map(|one| one.address.to_string()).collect();
        assert_eq!(doors, ["127.0.0.1:9312", "0.0.0.0:9306"]);
    }

    #[test]
    fn what_others_are_like_needs_no_query() {
        let text = "source base { sql_host = db.test\n type = mysql }\nsource a : base {\n\
                    sql_query = SELECT 1 }\nindex b { source = a }";
        let conf = read(text).unwrap();
        let source = conf.source("a").unwrap();
        assert_eq!((conf.sources.len(), source.host.as_str()), (1, "db.test"));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let check = |text: &str, expected: &str| {
            let error = read(text).map(drop).unwrap_err();
            assert_eq!(error.to_string(), expected, "{text}");
        };
        check("source a : b { type = mysql }", "line 1: source a is like b, which isn't there");
        check("\nindex a\n{ source = b }", "line 2: index a names the source b, which isn't there");
        check("index a {\nfoo\n}", "line 2: foo has no value; write key = value");
        check("index a {\n", "line 2: index a has no end; write } behind its last line");
        check(
            "what { }",
            "line 1: what is no section; there are source, index, indexer, \
             searchd and common",
        );
        check("#!/usr/bin/php\n", "line 1: the file is a program; give what it prints");
        check(
            "source a { type = odbc\n sql_query = x }",
            "line 1: sources of the type odbc \
             aren't read; there are mysql, pgsql and sqlite",
        );
        check(
            "source a { type = mysql }\nindex b { source = a }",
            "line 1: source a has no sql_query",
        );
        check("index ../a { type = rt }", "line 1: index .. has no beginning; write { here");
        check(
            "index a.b { type = rt }",
            "line 1: index a.b: a name is of letters, digits, _ and -, up to 64 of them",
        );
        check(
            "searchd { listen = here:there }",
            "line 1: here:there is no address: write \
               127.0.0.1:9312, or 127.0.0.1:9306:mysql41 for SphinxQL",
        );
    }
}
