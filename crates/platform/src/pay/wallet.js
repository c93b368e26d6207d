// What pages to pay do in a browser that runs scripts: what is typed is what is chosen, the button says how much, and a
// wallet in the browser (EIP-6963, or window.ethereum) is asked for its account, and to send what a form lists.
// Without one, or without script, the pages work with the built-in test wallets.
"use strict";

const announced = [];
window.addEventListener("eip6963:announceProvider", (event) => announced.push(event.detail.provider));
window.dispatchEvent(new Event("eip6963:requestProvider"));

const provider = () => announced[0] ?? window.ethereum;
const status = (text) => {
  const place = document.getElementById("wallet-status");
  if (place) place.textContent = text;
};

const words = (error) => {
  if (error?.code === 4001) return "You declined it in your wallet. You can try again.";
  if (error?.code === -32002) return "Your wallet has a question open already: please look there.";
  return error?.message ?? String(error);
};

const amountBox = document.getElementById("amount");

/** The amount that is typed in base units; null where that is no amount. */
function typed() {
  const { decimals } = amountBox.closest("fieldset").dataset;
  const [, whole, part = ""] = /^(\d+)(?:\.(\d+))?$/.exec(amountBox.value.trim()) ?? [];
  return whole === undefined || part.length > Number(decimals) ? null : BigInt(whole + part.padEnd(Number(decimals), "0"));
}

/** The button says what is going to be authorised. */
function tell() {
  const chosen = document.querySelector("input[name=cap]:checked");
  const { symbol } = amountBox.closest("fieldset").dataset;
  const shown = chosen.value === "other" ? `${amountBox.value.trim()} ${symbol}` : chosen.dataset.shown;
  document.getElementById("chosen").textContent = chosen.value === "other" && typed() === null ? "" : ` ${shown.replace("No limit", "without limit")}`;
}

function choose() {
  amountBox.addEventListener("input", () => {
    document.getElementById("cap-other").checked = true;
    tell();
  });
  for (const one of document.querySelectorAll("input[name=cap]")) {
    one.addEventListener("change", () => {
      if (one.value === "other") amountBox.focus();
      else amountBox.value = "";
      tell();
    });
  }
  tell();
}

/** The account, on the chain that the page is about. */
async function account(wallet, form) {
  const [address] = await wallet.request({ method: "eth_requestAccounts" });
  const chain = form.dataset.chain;
  if ((await wallet.request({ method: "eth_chainId" })) !== chain) {
    await wallet.request({ method: "wallet_switchEthereumChain", params: [{ chainId: chain }] });
  }
  return address;
}

async function connect(form) {
  document.getElementById("own").value = await account(provider(), form);
  form.submit();
}

/** The calls of the choice that was made. An allowance of what was typed ends in that amount, 32 bytes of it. */
function ordered(form) {
  const cap = form.querySelector("input[name=cap]:checked")?.value;
  const orders = [...form.querySelectorAll(".order")].filter((order) => (order.dataset.cap ?? cap) === cap);
  const calls = orders.map(({ dataset: { to, data } }) => ({ to, data }));
  if (cap !== "other") return calls;
  const [amount, least] = [typed(), BigInt(amountBox.closest("fieldset").dataset.least)];
  if (amount === null || amount < least || amount >= 2n ** 256n) throw new Error("The amount is less than one period costs, or no number.");
  const last = calls.at(-1);
  last.data = last.data.slice(0, -64) + amount.toString(16).padStart(64, "0");
  return calls;
}

/** Sends all orders of a form, one after the other; each but the last has to be in a block first. */
async function send(form) {
  const wallet = provider();
  if (!wallet) throw new Error("There is no wallet in this browser any more.");
  const orders = ordered(form);
  const from = await account(wallet, form);
  if (from.toLowerCase() !== form.dataset.from.toLowerCase()) {
    throw new Error(`Choose the account ${form.dataset.from} in your wallet: it is the one of this subscription.`);
  }
  let hash = "";
  for (const [place, order] of orders.entries()) {
    status(`Look at your wallet: confirmation ${place + 1} of ${orders.length}.`);
    hash = await wallet.request({ method: "eth_sendTransaction", params: [{ from, ...order }] });
    while (place + 1 < orders.length) {
      const receipt = await wallet.request({ method: "eth_getTransactionReceipt", params: [hash] });
      if (receipt) break;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
  document.getElementById("hash").value = hash;
  form.submit();
}

function begin() {
  if (amountBox) choose();
  const form = document.getElementById("own-wallet");
  if (!form) return;
  const button = form.querySelector("#connect, .ask-wallet");
  if (provider()) form.classList.remove("hidden");
  button.addEventListener("click", () => {
    button.disabled = true;
    const done = button.id === "connect" ? connect(form) : send(form);
    done.catch((error) => {
      status(words(error));
      button.disabled = false;
    });
  });
  provider()?.on?.("accountsChanged", () => status("The account in your wallet has changed."));
}

// Whoever comes from the step before hears where they are.
const arrived = document.querySelector("h1[id^=step-]:not(#step-1), h1#cancelled");
if (arrived && !document.getElementById("waiting")) arrived.focus();
begin();
