// A wallet in the browser (EIP-6963, or window.ethereum): it is asked for its account, and to send what a form lists.
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

/** Sends all orders of a form, one after the other; each but the last has to be in a block first. */
async function send(form) {
  const wallet = provider();
  if (!wallet) throw new Error("There is no wallet in this browser any more.");
  const from = await account(wallet, form);
  if (from.toLowerCase() !== form.dataset.from.toLowerCase()) {
    throw new Error(`Choose the account ${form.dataset.from} in your wallet: it is the one of this subscription.`);
  }
  const cap = form.querySelector("input[name=cap]:checked")?.value;
  const orders = [...form.querySelectorAll(".order")].filter((order) => (order.dataset.cap ?? cap) === cap);
  let hash = "";
  for (const [place, order] of orders.entries()) {
    status(`Look at your wallet: confirmation ${place + 1} of ${orders.length}.`);
    const tx = { from, to: order.dataset.to, data: order.dataset.data };
    hash = await wallet.request({ method: "eth_sendTransaction", params: [tx] });
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

begin();
