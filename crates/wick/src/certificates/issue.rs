//! One certificate from a CA (RFC 8555 §7): an account, an order, a proof, the certificate.
//!
//! In: a name and the ways by which it can be proved. Out: a chain and its key, or why not,
//! in words for the owner. Nothing secret is in an error.

use std::time::Duration;

use instant_acme::{
    Account, AccountCredentials, AuthorizationStatus, ChallengeType, Error, ExternalAccountKey,
    Identifier, NewAccount, NewOrder, Order, OrderStatus, RetryPolicy,
};
use server::{Shown, Tls};

use super::Binding;
use super::client::Client;
use super::made;
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

/// How a CA is shown whose a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// By a page at port 80.
    Http,
    /// By a certificate at port 443.
    Tls,
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
            Self::Acme(Error::Other(_)) => Setback::Unheard,
            _ => Setback::Refused,
        }
    }

    /// Whether the CA doesn't know our account any more.
    pub(crate) fn is_forgotten(&self) -> bool {
        matches!(self, Self::Acme(Error::Api(problem)) if problem.r#type.as_deref() == Some(NO_ACCOUNT))
    }
}

/// Our account at a CA; a new one where there is none.
pub(crate) async fn account(
    client: &Client,
    shelf: &Shelf,
    directory: &str,
    email: Option<&str>,
    binding: Option<&Binding>,
) -> Result<Account, IssueError> {
    let builder = || Account::builder_with_http(Box::new(client.clone()));
    let kept = shelf.account(directory);
    let kept = kept.and_then(|text| serde_json::from_slice::<AccountCredentials>(&text).ok());
    if let Some(credentials) = kept {
        return Ok(builder().from_credentials(credentials).await?);
    }
    let contact = email.map(|email| format!("mailto:{email}"));
    let contact: Vec<&str> = contact.as_deref().into_iter().collect();
    let new = NewAccount {
        contact: &contact,
        terms_of_service_agreed: true,
        only_return_existing: false,
    };
    let binding =
        binding.map(|Binding { id, key }| ExternalAccountKey::new(id.clone(), key.reveal()));
    let created = builder().create(&new, directory.to_owned(), binding.as_ref()).await;
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
    tls: &Tls,
) -> Result<Issued, IssueError> {
    let identifiers = [Identifier::Dns(name.to_owned())];
    let mut order = account.new_order(&NewOrder::new(&identifiers)).await?;
    // What is shown goes when this ends, however it does.
    let _shown = show(&mut order, name, way, tls).await?;
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
    tls: &Tls,
) -> Result<Vec<Shown>, IssueError> {
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
        let proof = challenge.key_authorization();
        let shown = match way {
            Way::Http => tls.show_proof(&challenge.token, proof.as_str()),
            Way::Tls => {
                let proof = made::proof(name, &proof).map_err(IssueError::Ours)?;
                tls.show_certificate(name, &proof)
            }
        };
        all.push(shown.ok_or_else(|| IssueError::Ours("too many names at a time".to_owned()))?);
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
