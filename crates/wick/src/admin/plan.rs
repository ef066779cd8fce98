//! Where the admin listener is, as an owner writes it and as it is served.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::{self, Deserializer};

use super::alarm::{AlarmPlan, Webhook};
use super::guard::Guard;
use super::token::Token;
use crate::settings::Secret;

const PORT: u16 = 9180;
/// More than any token has.
const TOKEN_FILE_BYTES_MAX: usize = 4096;

/// The setting `admin`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AdminSetting {
    Off,
    At(SocketAddr),
}

impl<'de> Deserialize<'de> for AdminSetting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.as_str() {
            "off" => Ok(Self::Off),
            address => address.parse().map(Self::At).map_err(|_| {
                de::Error::custom("write an address such as \"127.0.0.1:9180\", or \"off\"")
            }),
        }
    }
}

/// The setting `php_status`: the path of a php-fpm's status page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StatusPath(pub(crate) PathBuf);

impl<'de> Deserialize<'de> for StatusPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.starts_with('/') && text.bytes().all(|byte| byte.is_ascii_graphic()) {
            true => Ok(Self(text.into())),
            false => Err(de::Error::custom(format!(
                "\"{text}\" is no path: write the pm.status_path of the pool, as in \"/status\""
            ))),
        }
    }
}

/// What was written about it.
#[derive(Debug, Default)]
pub(crate) struct AdminWritten {
    pub(crate) admin: Option<AdminSetting>,
    pub(crate) token: Option<Secret>,
    pub(crate) token_file: Option<PathBuf>,
    pub(crate) host: Option<String>,
    pub(crate) munin: Option<SocketAddr>,
    pub(crate) webhook: Option<Secret>,
    pub(crate) command: Option<PathBuf>,
}

/// What is served.
#[derive(Clone, Debug, Default)]
pub(crate) struct AdminPlan {
    /// Where; none where the owner wants none.
    pub(crate) address: Option<SocketAddr>,
    /// Whether the owner named that address: then it has to be free.
    pub(crate) is_named: bool,
    pub(crate) guard: Guard,
    /// Where munin asks.
    pub(crate) munin: Option<SocketAddr>,
    /// Whether anything is looked at: for alerts also where nobody may ask.
    pub(crate) is_watched: bool,
    pub(crate) alarm: AlarmPlan,
}

/// Settings of the admin listener that can't be followed; each message says what to write.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AdminPlanError {
    /// Everybody could look in.
    #[error(
        "admin = \"{0}\" can be reached from other machines: add admin_token = \"…\", such as \
         \"openssl rand -hex 16\" makes, or write admin = \"127.0.0.1:{port}\"", port = .0.port()
    )]
    Open(SocketAddr),
    /// A token that anybody could try out.
    #[error(
        "the admin_token is shorter than 16 characters: write a longer one, such as \
         \"openssl rand -hex 16\" makes"
    )]
    ShortToken,
    /// Two tokens.
    #[error("there is an admin_token and an admin_token_file: take one of them out")]
    TwoTokens,
    /// The file can't be used.
    #[error("can't read the admin_token_file {0}: {1}")]
    TokenFile(PathBuf, String),
    /// No address, or one that can't be used.
    #[error(
        "the alert_webhook is no address that can be told: write https://HOST/PATH, without a \
         user's name"
    )]
    Webhook,
    /// munin's protocol knows no token.
    #[error(
        "munin = \"{0}\" can be reached from other machines, and munin shows no token: write \
         munin = \"127.0.0.1:{port}\", and let the munin server come by SSH", port = .0.port()
    )]
    OpenMunin(SocketAddr),
}

impl AdminPlan {
    pub(crate) fn of(written: AdminWritten) -> Result<Self, AdminPlanError> {
        let token = match (written.token, written.token_file) {
            (Some(_), Some(_)) => return Err(AdminPlanError::TwoTokens),
            (Some(Secret(text)), None) => Some(text),
            (None, Some(path)) => Some(read(&path)?),
            (None, None) => None,
        };
        let token = match token {
            Some(text) => Some(Token::new(&text).ok_or(AdminPlanError::ShortToken)?),
            None => None,
        };
        let address = match written.admin {
            None => Some(SocketAddr::from((Ipv4Addr::LOCALHOST, PORT))),
            Some(AdminSetting::At(address)) => Some(address),
            Some(AdminSetting::Off) => None,
        };
        if let Some(address) = address.filter(|address| !address.ip().is_loopback())
            && token.is_none()
        {
            return Err(AdminPlanError::Open(address));
        }
        if let Some(address) = written.munin.filter(|address| !address.ip().is_loopback()) {
            return Err(AdminPlanError::OpenMunin(address));
        }
        let webhook = match &written.webhook {
            Some(text) => Some(Webhook::parse(text).ok_or(AdminPlanError::Webhook)?),
            None => None,
        };
        Ok(Self {
            address,
            is_named: written.admin.is_some(),
            guard: Guard { token, host: written.host },
            munin: written.munin,
            is_watched: true,
            alarm: AlarmPlan { webhook, command: written.command },
        })
    }
}

/// The first line of a file with a token in it.
fn read(path: &Path) -> Result<String, AdminPlanError> {
    let wrong = |why: String| AdminPlanError::TokenFile(path.to_owned(), why);
    let text = std::fs::read_to_string(path)
        .map_err(|error| wrong(format!("{error}; name a file that this user may read")))?;
    if text.len() > TOKEN_FILE_BYTES_MAX {
        return Err(wrong("it is too large; name a file with nothing but the token".to_owned()));
    }
    Ok(text.lines().next().unwrap_or_default().trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "a-token-of-many-letters";

    fn at(address: &str) -> AdminWritten {
        let admin = Some(AdminSetting::At(address.parse().expect("an address")));
        AdminWritten { admin, ..AdminWritten::default() }
    }

    fn with_token(written: AdminWritten, token: &str) -> AdminWritten {
        AdminWritten { token: Some(Secret(token.to_owned())), ..written }
    }

    #[test]
    fn it_is_on_this_machine_unless_another_address_has_a_token() {
        let plan = AdminPlan::of(AdminWritten::default()).expect("a plan");
        assert_eq!(plan.address.map(|address| address.to_string()), Some("127.0.0.1:9180".into()));
        assert!(!plan.is_named && plan.munin.is_none());
        let off = AdminWritten { admin: Some(AdminSetting::Off), ..AdminWritten::default() };
        assert!(AdminPlan::of(off).expect("a plan").address.is_none());
        assert!(AdminPlan::of(at("[::1]:1")).expect("a plan").is_named);
        for open in ["0.0.0.0:9180", "[::]:9180", "192.0.2.7:9180"] {
            let told = AdminPlan::of(at(open)).expect_err("it is open").to_string();
            assert!(told.contains("admin_token = ") && told.contains(open), "{told}");
            assert!(AdminPlan::of(with_token(at(open), TOKEN)).is_ok());
        }
        let munin = Some("0.0.0.0:4949".parse().expect("an address"));
        let told = AdminPlan::of(AdminWritten { munin, ..AdminWritten::default() });
        assert!(told.expect_err("it is open").to_string().contains("127.0.0.1:4949"));
    }

    #[test]
    fn a_token_that_can_not_be_used_is_told_and_not_repeated() {
        let short = with_token(at("127.0.0.1:1"), "hush-hush");
        let told = AdminPlan::of(short).expect_err("it is short").to_string();
        assert!(told.contains("shorter than 16") && !told.contains("hush"), "{told}");
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("token");
        let by_file =
            |file: &Path| AdminWritten { token_file: Some(file.to_owned()), ..at("0.0.0.0:1") };
        let told = AdminPlan::of(by_file(&file)).expect_err("it isn't there").to_string();
        assert!(told.contains("name a file that this user may read"), "{told}");
        std::fs::write(&file, format!(" {TOKEN} \n\n")).expect("the file is written");
        let plan = AdminPlan::of(by_file(&file)).expect("a plan");
        assert_eq!(plan.guard.token, Token::new(TOKEN));
        let told = AdminPlan::of(with_token(by_file(&file), TOKEN)).expect_err("two of them");
        assert!(told.to_string().contains("take one of them out"));
        std::fs::write(&file, "x".repeat(5000)).expect("the file is written");
        assert!(
            AdminPlan::of(by_file(&file)).expect_err("large").to_string().contains("too large")
        );
    }
}
