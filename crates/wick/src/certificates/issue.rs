//! One certificate from a CA (RFC 8555 §7): an account, an order, a proof, the certificate.
//!
//! In: a name and the ways by which it can be proved. Out: a chain and its key, or why not,
//! in words for the owner. Nothing secret is in an error.

use std::sync::Arc;
use std::time::Duration;

use cluster::KeepError;
use instant_acme::{
    Account, AccountCredentials, AuthorizationStatus, ChallengeType, Error, ExternalAccountKey,
    Identifier, NewAccount, NewOrder, Order, OrderStatus, RetryPolicy,
};
use server::{Shown, Tls};

use super::Binding;
use super::client::Client;
use super::fellows::{Fellows, Spread};
use super::made;
use super::proof::{Proof, Way};
use super::schedule::Setback;
use super::shelf::Shelf;

/// How long a CA may take for one step.
const STEP: RetryPolicy = RetryPolicy::new()
    .initial_delay(Duration::from_millis(250))
    .backoff(1.5)
    .timeout(Duration::from_secs(90));
/// What says that a CA has forgotten an account.
const NO_ACCOUNT: &str = "urn:ietf:params:acme:error:accountDoesNotExist";

/// What says that a CA takes no account without one that its owner has there.
const NO_BINDING: &str = "urn:ietf:params:acme:error:externalAccountRequired";

/// Where proofs are shown.
pub(crate) struct Stage<'a> {
    pub(crate) tls: &'a Tls,
    /// The other nodes, which a CA may ask as well.
    pub(crate) fellows: Option<&'a Arc<Fellows>>,
}

/// What a CA has issued.
pub(crate) struct Issued {
    pub(crate) chain: String,
    pub(crate) key: String,
}

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub(crate) enum IssueError {
    /// The CA, or what leads to it.
    #[error(transparent)]
    Acme(Error),
    /// It looked, and did not see what it wanted.
    #[error("{0}")]
    Unproved(String),
    /// It wants something else.
    #[error(
        "it offers no way to prove the name that is possible here: let port 80 or 443 of it lead to this machine"
    )]
    NoWay,
    /// It knows its customers.
    #[error(
        "it takes no account without one that you have there ({0}): write acme_eab_key_id and \
         acme_eab_hmac_key as it gives them to you"
    )]
    Unbound(String),
    /// The other nodes, without whom nothing is ordered.
    #[error("the other nodes can't be asked or told of it: {0}")]
    Fellows(#[from] KeepError),
    /// Ours.
    #[error("{0}")]
    Ours(String),
}

impl From<Error> for IssueError {
    fn from(error: Error) -> Self {
        Self::Acme(error)
    }
}

impl IssueError {
    /// What it means for the next try.
    pub(crate) fn setback(&self) -> Setback {
        match self {
            Self::Acme(Error::Api(problem)) => match problem.status {
                Some(500..) => Setback::Unheard,
                _ if self.is_forgotten() => Setback::Unheard,
                _ => Setback::Refused,
            },
            Self::Acme(Error::Other(_)) | Self::Fellows(_) => Setback::Unheard,
            _ => Setback::Refused,
        }
    }

    /// Whether the CA doesn't know our account any more.
    pub(crate) fn is_forgotten(&self) -> bool {
        matches!(self, Self::Acme(Error::Api(problem)) if problem.r#type.as_deref() == Some(NO_ACCOUNT))
    }
}

/// The account at a CA that is kept, if there is one that can be read.
pub(crate) async fn known_account(
    client: &Client,
    shelf: &Shelf,
    directory: &str,
) -> Result<Option<Account>, IssueError> {
    let kept = shelf.account(directory);
    let kept = kept.and_then(|text| serde_json::from_slice::<AccountCredentials>(&text).ok());
    let Some(credentials) = kept else { return Ok(None) };
    let builder = Account::builder_with_http(Box::new(client.clone()));
    Ok(Some(builder.from_credentials(credentials).await?))
}

/// A new account at a CA, which is kept.
pub(crate) async fn new_account(
    client: &Client,
    shelf: &Shelf,
    directory: &str,
    email: Option<&str>,
    binding: Option<&Binding>,
) -> Result<Account, IssueError> {
    let contact = email.map(|email| format!("mailto:{email}"));
    let contact: Vec<&str> = contact.as_deref().into_iter().collect();
    let new = NewAccount {
        contact: &contact,
        terms_of_service_agreed: true,
        only_return_existing: false,
    };
    let binding =
        binding.map(|Binding { id, key }| ExternalAccountKey::new(id.clone(), key.reveal()));
    let builder = Account::builder_with_http(Box::new(client.clone()));
    let created = builder.create(&new, directory.to_owned(), binding.as_ref()).await;
    let (account, credentials) = created.map_err(|error| match &error {
        Error::Api(problem) if problem.r#type.as_deref() == Some(NO_BINDING) => {
            IssueError::Unbound(problem.detail.clone().unwrap_or_default())
        }
        _ => IssueError::Acme(error),
    })?;
    let text = serde_json::to_string(&credentials).map_err(Error::from)?;
    let kept = shelf.keep_account(directory, &text);
    kept.map_err(|error| IssueError::Ours(format!("the account can't be kept: {error}")))?;
    Ok(account)
}

/// Gets a certificate for a name, proved in one way.
pub(crate) async fn issue(
    account: &Account,
    name: &str,
    way: Way,
    stage: &Stage<'_>,
) -> Result<Issued, IssueError> {
    let identifiers = [Identifier::Dns(name.to_owned())];
    let mut order = account.new_order(&NewOrder::new(&identifiers)).await?;
    // What is shown goes when this ends, however it does.
    let _shown = show(&mut order, name, way, stage).await?;
    match order.poll_ready(&STEP).await {
        Ok(OrderStatus::Ready) => {}
        Ok(_) | Err(Error::Api(_)) => return Err(unproved(&mut order).await),
        Err(error) => return Err(error.into()),
    }
    let request =
        made::signing_request(name).map_err(|error| IssueError::Ours(error.to_string()))?;
    order.finalize_csr(&request.der).await?;
    let chain = order.poll_certificate(&STEP).await?;
    Ok(Issued { chain, key: request.key })
}

/// Shows what proves each name that isn't proved yet, and says so to the CA.
async fn show(
    order: &mut Order,
    name: &str,
    way: Way,
    stage: &Stage<'_>,
) -> Result<Vec<(Shown, Option<Spread>)>, IssueError> {
    let mut all = Vec::new();
    let mut authorizations = order.authorizations();
    while let Some(authorization) = authorizations.next().await {
        let mut authorization = authorization?;
        if authorization.status == AuthorizationStatus::Valid {
            continue;
        }
        let kind = match way {
            Way::Http => ChallengeType::Http01,
            Way::Tls => ChallengeType::TlsAlpn01,
        };
        let mut challenge = authorization.challenge(kind).ok_or(IssueError::NoWay)?;
        let proof = Proof {
            way,
            name: name.to_owned(),
            token: challenge.token.clone(),
            text: challenge.key_authorization().as_str().to_owned(),
        };
        let shown = proof.show(stage.tls).map_err(IssueError::Ours)?;
        let spread = match stage.fellows {
            Some(fellows) => Some(fellows.show(&proof).await),
            None => None,
        };
        all.push((shown, spread));
        challenge.set_ready().await?;
    }
    Ok(all)
}

/// What the CA saw instead, in its own words.
async fn unproved(order: &mut Order) -> IssueError {
    let mut authorizations = order.authorizations();
    while let Some(Ok(mut authorization)) = authorizations.next().await {
        let Ok(state) = authorization.refresh().await else { continue };
        let told = state.challenges.iter().find_map(|challenge| challenge.error.as_ref());
        if let Some(problem) = told {
            let detail = problem.detail.clone();
            return IssueError::Unproved(detail.unwrap_or_else(|| problem.to_string()));
        }
    }
    IssueError::Unproved("it gives no reason".to_owned())
}
