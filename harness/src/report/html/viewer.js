(() => {
  const find = (id) => document.getElementById(id);
  const rows = [...document.querySelectorAll(".lanes li[data-client]")];
  const words = find("words"), client = find("client"), channel = find("channel"), count = find("count");
  const show = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const filtered = wanted.length || client.value || channel.value;
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      const fit = (!client.value || row.dataset.client === client.value) && (!channel.value || row.dataset.channel === channel.value) && wanted.every((word) => text.includes(word));
      row.hidden = !fit;
      shown += fit;
    }
    for (const fold of document.querySelectorAll(".lanes .fold > details")) fold.open = Boolean(filtered);
    count.textContent = shown + " of " + rows.length + " lines";
  };
  for (const input of [words, client, channel]) input.addEventListener("input", show);
  const go = () => {
    const row = find(decodeURIComponent(location.hash.slice(1)));
    if (!row) return;
    for (let it = row; it; it = it.parentElement) if (it.tagName === "DETAILS") it.open = true;
    row.hidden = false;
    row.scrollIntoView({ block: "center" });
  };
  addEventListener("hashchange", go);
  show();
  go();
})();
