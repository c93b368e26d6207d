//! The messages between the two processes: frames of a length and a message, neither of which may be long.
//!
//! The process that holds the keys reads nothing else once it holds them, so this is small: fixed fields, no
//! text that is parsed, and no frame above [`LONGEST`].

use alloy::primitives::{Address, B256, U256};
use billing::UserHash;
use billing::{AttemptKind, ChargeKey, ChargeTerms, Item, Period, PlanId, SubscribeId};
use policy::{Intent, Refusal};
use prost::Message;
use std::io::{self, Read};
use tokio::io::{AsyncRead, AsyncReadExt as _, BufReader};

/// The longest message, bytes: the largest batch (10,000 charges) takes half of it.
const LONGEST: usize = 4 << 20;

/// A question to the process that holds the keys.
#[derive(Clone, PartialEq, Message)]
pub struct Ask {
    /// Comes back with the answer.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// Which key is meant, by its place in the [`Manifest`].
    #[prost(uint32, tag = "2")]
    pub key: u32,
    /// The value or operation asked for.
    #[prost(oneof = "KeyQuestion", tags = "3, 4, 5, 6")]
    pub question: Option<KeyQuestion>,
}

/// The value or operation asked for.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum KeyQuestion {
    /// Sign a new batch.
    #[prost(message, tag = "3")]
    Bill(SignBill),
    /// Sign another attempt of a batch.
    #[prost(message, tag = "4")]
    Again(SignAgain),
    /// Sign a transaction that does nothing, in the place of a batch.
    #[prost(message, tag = "5")]
    Cancel(SignAgain),
    /// Know these profiles as well, before anything is signed. Not answered.
    #[prost(message, tag = "6")]
    Remember(Profiles),
}

/// A new batch.
#[derive(Clone, PartialEq, Message)]
pub struct SignBill {
    /// The bytes that the signature is to commit to.
    #[prost(bytes = "vec", tag = "1")]
    pub bytes: Vec<u8>,
    /// The charges of these bytes, in their order.
    #[prost(message, repeated, tag = "2")]
    charges: Vec<WireCharge>,
}

/// Another attempt, or the cancel of a batch.
#[derive(Clone, PartialEq, Message)]
pub struct SignAgain {
    /// The bytes that the signature is to commit to.
    #[prost(bytes = "vec", tag = "1")]
    pub bytes: Vec<u8>,
    /// A signed attempt of the same batch.
    #[prost(bytes = "vec", tag = "2")]
    pub earlier: Vec<u8>,
}

/// The profiles that older batches were signed by, as text.
#[derive(Clone, PartialEq, Message)]
pub struct Profiles {
    /// Each once.
    #[prost(string, repeated, tag = "1")]
    pub texts: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
struct WireCharge {
    #[prost(int64, tag = "1")]
    subscribe: i64,
    #[prost(int64, tag = "2")]
    plan: i64,
    #[prost(bytes = "vec", tag = "3")]
    user: Vec<u8>,
    /// None for the one that a guard time stands in for.
    #[prost(bytes = "vec", optional, tag = "4")]
    period: Option<Vec<u8>>,
    #[prost(bytes = "vec", tag = "5")]
    amount: Vec<u8>,
    #[prost(bytes = "vec", tag = "6")]
    token: Vec<u8>,
}

/// An answer.
#[derive(Clone, PartialEq, Message)]
pub struct KeyAnswer {
    /// Of which question.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// Outcome of the question.
    #[prost(oneof = "KeyReply", tags = "2, 3, 4")]
    pub reply: Option<KeyReply>,
}

/// The outcome of a question.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum KeyReply {
    /// The signature: r, s and the parity.
    #[prost(bytes, tag = "2")]
    Signature(Vec<u8>),
    /// The policy does not let it be signed.
    #[prost(message, tag = "3")]
    Refused(WireRefusal),
    /// The key gave no signature, or one that leads elsewhere.
    #[prost(bool, tag = "4")]
    Failed(bool),
}

/// Why the policy does not let it be signed.
#[derive(Clone, PartialEq, Message)]
pub struct WireRefusal {
    #[prost(string, tag = "1")]
    rule: String,
    #[prost(string, tag = "2")]
    why: String,
}

/// The first message of the process that holds the keys.
#[derive(Clone, PartialEq, Message)]
pub struct Manifest {
    /// The digest of the configuration that it has read (`SigningConfig::digest`).
    #[prost(bytes = "vec", tag = "1")]
    pub config: Vec<u8>,
    /// Every key that it was to open.
    #[prost(message, repeated, tag = "2")]
    pub keys: Vec<Opened>,
    /// Parts of its protection that this machine does not give.
    #[prost(string, repeated, tag = "3")]
    pub lacks: Vec<String>,
}

/// A key that was to be opened.
#[derive(Clone, PartialEq, Message)]
pub struct Opened {
    /// The operator's name for the key: `chains.139.key`.
    #[prost(string, tag = "1")]
    pub path: String,
    /// The address, or why it was not opened.
    #[prost(oneof = "OpenedAs", tags = "2, 3")]
    pub outcome: Option<OpenedAs>,
}

/// The outcome of opening a key.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum OpenedAs {
    /// It signs for this address.
    #[prost(bytes, tag = "2")]
    Address(Vec<u8>),
    /// It was not opened, and why.
    #[prost(string, tag = "3")]
    Fault(String),
}

impl KeyQuestion {
    /// Builds the question about these bytes; none if they are another attempt of a batch, or cancel it, and its
    /// earlier attempt is missing.
    pub fn of(bytes: &[u8], intent: &Intent<'_>) -> Option<Self> {
        let bytes = bytes.to_vec();
        let again = |bytes| Some(SignAgain { bytes, earlier: intent.earlier?.to_vec() });
        Some(match (intent.kind, intent.tokens) {
            (AttemptKind::Cancel, _) => Self::Cancel(again(bytes)?),
            (AttemptKind::Bill, None) => Self::Again(again(bytes)?),
            (AttemptKind::Bill, Some(tokens)) => {
                let charges = intent.items.iter().zip(tokens);
                let charges = charges.map(|(item, token)| WireCharge::of(item, *token)).collect();
                Self::Bill(SignBill { bytes, charges })
            }
        })
    }
}

impl SignBill {
    /// Returns the items to be charged, and the token of each; none if a field has a length that it cannot have.
    pub fn charges(&self) -> Option<(Vec<Item>, Vec<Address>)> {
        self.charges.iter().map(WireCharge::read).collect()
    }
}

impl WireCharge {
    fn of(item: &Item, token: Address) -> Self {
        let number = |number: U256| number.to_be_bytes_trimmed_vec();
        Self {
            subscribe: item.subscribe.0,
            plan: item.key.plan.0,
            user: item.key.user.0.to_vec(),
            period: match item.key.period {
                Period::Numbered(period) => Some(number(period)),
                Period::Guarded => None,
            },
            amount: number(item.amount),
            token: token.to_vec(),
        }
    }

    fn read(&self) -> Option<(Item, Address)> {
        let number = |bytes: &[u8]| U256::try_from_be_slice(bytes);
        let period = match &self.period {
            Some(period) => Period::Numbered(number(period)?),
            None => Period::Guarded,
        };
        let user = UserHash(B256::try_from(self.user.as_slice()).ok()?);
        let item = Item {
            subscribe: SubscribeId(self.subscribe),
            key: ChargeKey { plan: PlanId(self.plan), user, period },
            amount: number(&self.amount)?,
            terms: ChargeTerms::default(),
        };
        Some((item, Address::try_from(self.token.as_slice()).ok()?))
    }
}

impl From<Refusal> for WireRefusal {
    fn from(Refusal { rule, why }: Refusal) -> Self {
        Self { rule, why }
    }
}

impl From<WireRefusal> for Refusal {
    fn from(WireRefusal { rule, why }: WireRefusal) -> Self {
        Self { rule, why }
    }
}

/// A message as a frame: its length in four bytes, then itself.
pub fn frame(message: &impl Message) -> io::Result<Vec<u8>> {
    let length = message.encoded_len();
    let too_long = || io::Error::other("a message between the processes is too long");
    let short = u32::try_from(length).ok().filter(|_| length <= LONGEST).ok_or_else(too_long)?;
    let mut framed = Vec::with_capacity(length.saturating_add(4));
    framed.extend(short.to_be_bytes());
    message.encode(&mut framed).map_err(io::Error::other)?;
    Ok(framed)
}

/// Returns the length of the message behind these bytes; an error if it may not be so long.
fn length(head: [u8; 4]) -> io::Result<usize> {
    let length = usize::try_from(u32::from_be_bytes(head)).unwrap_or(usize::MAX);
    let long = "a frame is longer than any message";
    if length <= LONGEST {
        Ok(length)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidData, long))
    }
}

/// The bytes of the next message; none where the other end is closed between two of them.
pub fn read_frame(from: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut head = [0; 4];
    let (first, rest) = head.split_at_mut(1);
    loop {
        match from.read(first) {
            Ok(0) => return Ok(None),
            Ok(_) => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    from.read_exact(rest)?;
    let mut message = vec![0; length(head)?];
    from.read_exact(&mut message)?;
    Ok(Some(message))
}

/// The next message, which is never longer than one may be.
pub(crate) async fn next_message<M: Message + Default>(
    from: &mut BufReader<impl AsyncRead + Unpin>,
) -> io::Result<M> {
    let mut head = [0; 4];
    from.read_exact(&mut head).await?;
    let mut message = vec![0; length(head)?];
    from.read_exact(&mut message).await?;
    M::decode(message.as_slice()).map_err(io::Error::other)
}

#[cfg(test)]
mod tests;
