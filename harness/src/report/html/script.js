(() => {
  const find = (id) => document.getElementById(id);
  const rows = [...document.querySelectorAll("#rules .rows > li")];
  const groups = [...document.querySelectorAll("#rules > section")];
  const words = find("words"), outcome = find("outcome"), weight = find("weight"), profile = find("profile"), count = find("count");
  const show = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = row.closest("section").firstChild.textContent.concat(" ", row.textContent).toLowerCase();
      const fits = (select, name) => !select.value || row.dataset[name] === select.value;
      const fit = fits(outcome, "outcome") && fits(weight, "weight") && fits(profile, "profile") && wanted.every((word) => text.includes(word));
      row.hidden = !fit;
      shown += fit;
    }
    for (const group of groups) group.hidden = !group.querySelector("li:not([hidden])");
    count.textContent = shown + " of " + rows.length;
  };
  for (const input of [words, outcome, weight, profile]) input.addEventListener("input", show);
  addEventListener("hashchange", () => {
    const row = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let fold = row; fold; fold = fold.parentElement) if (fold.tagName === "DETAILS" && !fold.open) { fold.open = true; row.scrollIntoView(); }
    if (row && row.hidden) { for (const input of [words, outcome, weight, profile]) input.value = ""; show(); row.scrollIntoView(); }
  });
  show();
})();
