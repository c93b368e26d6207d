// The page around the verifier: reads the file that the reader chooses, and says what it shows.
"use strict";

{
  const form = document.getElementById("asked");
  const [said, table] = [document.getElementById("said"), document.getElementById("shown")];

  const row = (name, value) => {
    const line = table.tBodies[0].insertRow();
    const head = document.createElement("th");
    head.scope = "row";
    head.textContent = name;
    line.append(head);
    line.insertCell().textContent = value;
  };

  // The maker of the certificate wrote the names of the values: the block has none.
  const declared = (given) => (given ? "event, as it was given" : "event, to be compared with the contract's published ABI");

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const [file, digits] = [form.elements.file.files[0], form.elements.block.value.trim().toLowerCase()];
    const declaration = form.elements.declaration.value.trim() || undefined;
    const trusted = digits.startsWith("0x") ? digits : `0x${digits}`;
    table.tBodies[0].replaceChildren();
    table.hidden = true;
    try {
      const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await file.arrayBuffer());
      const shown = verifyCertificate(text, trusted, declaration);
      said.textContent = "It is valid, if that block is a final one of the chain. It shows:";
      row("block", shown.number);
      row("transaction, which succeeded", shown.transaction);
      row("contract, to be compared with the merchant's", shown.contract);
      if (shown.declaration) row(declared(declaration), shown.declaration);
      for (const [name, value] of Object.entries(shown.event)) row(`event: ${name}`, value);
      table.hidden = false;
    } catch (why) {
      said.textContent = `It proves nothing: ${why.message}`;
    }
  });
}
