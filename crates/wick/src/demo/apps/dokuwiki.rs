//! DokuWiki: pages in files, a `.htaccess` before what is private.

use std::fs;
use std::path::Path;

use super::folder::at;
use super::{App, AppFolder, InstallError};

const LOCAL: &str = r#"<?php
$conf['title'] = 'Candle works';
$conf['savedir'] = DOKU_INC . 'data';
$conf['useacl'] = 1;
$conf['superuser'] = '@admin';
"#;
const ACL: &str = "# <?php exit()?>\n* @ALL 1\n* @user 16\n";
/// [`super::USER`] with an MD5 of [`super::PASSWORD`].
const USERS: &str =
    "# <?php exit()?>\nann:358a741dd12eb3431a4813151523863e:Ann:ann@example.org:admin,user\n";

/// The folders that DokuWiki's installation makes in `data`.
const DATA: [&str; 11] = [
    "attic",
    "cache",
    "index",
    "locks",
    "log",
    "media",
    "media_attic",
    "media_meta",
    "meta",
    "pages",
    "tmp",
];
/// Pages in the folder `candles`.
const CANDLES: u32 = 20;

/// The app with pages that everybody may read and an account that may write.
pub(super) fn install() -> Result<App, InstallError> {
    let folder = AppFolder::copy("dokuwiki", "/usr/share/dokuwiki", &[])?;
    // Debian's own looks for settings and data in /etc and /var/lib.
    folder.write("site/inc/preload.php", "<?php\n")?;
    let settings = Path::new("/etc/dokuwiki");
    for entry in at(settings, fs::read_dir(settings))?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.contains(".auth.php") && entry.path().is_file() {
            let bytes = at(&entry.path(), fs::read(entry.path()))?;
            folder.write(&format!("site/conf/{name}"), bytes)?;
        }
    }
    folder.write("site/conf/local.php", LOCAL)?;
    folder.write("site/conf/acl.auth.php", ACL)?;
    folder.write("site/conf/users.auth.php", USERS)?;
    for name in DATA {
        folder.write(&format!("site/data/{name}/_dummy"), "")?;
    }
    // As the package has it before its own.
    let denial = folder.root().join("inc/.htaccess");
    folder.write("site/data/.htaccess", at(&denial, fs::read(&denial))?)?;
    write_pages(&folder)?;
    folder.let_write("site/data")?;
    folder.let_write("site/conf")?;
    Ok(App { database: None, folder })
}

fn write_pages(folder: &AppFolder) -> Result<(), InstallError> {
    let page = |name: &str, text: &str| folder.write(&format!("site/data/pages/{name}.txt"), text);
    let mut start = "====== Welcome ======\nSee [[second]].\n\n".to_owned();
    page("second", "====== Second page ======\nOld words.\n")?;
    for number in 1..=CANDLES {
        let next = number % CANDLES + 1;
        let words = format!("What is to be said of candle {number}.\n\n").repeat(8);
        let text = format!("====== Candle {number} ======\n{words}After it comes [[{next}]].\n");
        page(&format!("candles/{number}"), &text)?;
        start += &format!("  * [[candles:{number}]]\n");
    }
    page("start", &start)
}
