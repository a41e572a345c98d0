(() => {
  const find = (id) => document.getElementById(id);
  const rows = [...document.querySelectorAll(".lanes li[data-client]")];
  const scenes = [...document.querySelectorAll("details.scene")].map((scene) => ({ scene, rows: [...scene.querySelectorAll("li[data-client]")] }));
  const words = find("words"), client = find("client"), channel = find("channel"), scenario = find("scenario"), count = find("count");
  scenario.hidden = scenario.options.length < 2;
  const texts = new WeakMap();
  const text = (row) => {
    if (!texts.has(row)) texts.set(row, row.textContent.toLowerCase());
    return texts.get(row);
  };
  const show = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const filtered = wanted.length || client.value || channel.value || scenario.value;
    let shown = 0;
    const fits = (row) => (!client.value || row.dataset.client === client.value) && (!channel.value || row.dataset.channel === channel.value) && wanted.every((word) => text(row).includes(word));
    const own = (row) => {
      const fit = fits(row);
      row.hidden = !fit;
      shown += fit;
      return fit;
    };
    if (scenes.length === 0) rows.forEach(own);
    for (const it of scenes) {
      const wantedScene = !scenario.value || it.scene.dataset.scenario === scenario.value;
      const fit = wantedScene && it.rows.filter(own).length > 0;
      it.scene.hidden = !fit;
      it.scene.open = Boolean(filtered) && fit;
    }
    for (const fold of document.querySelectorAll(".lanes .fold > details")) fold.open = Boolean(filtered);
    count.textContent = shown + " of " + rows.length + " lines";
  };
  for (const input of [words, client, channel, scenario]) input.addEventListener("input", show);
  const go = () => {
    const row = find(decodeURIComponent(location.hash.slice(1)));
    if (!row) return;
    for (let it = row; it; it = it.parentElement) {
      if (it.tagName === "DETAILS") it.open = true;
      it.hidden = false;
    }
    row.scrollIntoView({ block: "center" });
  };
  addEventListener("hashchange", go);
  show();
  go();
})();
