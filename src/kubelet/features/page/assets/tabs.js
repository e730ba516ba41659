// Tabs by the pattern of the ARIA authoring practices: arrows, Home and End move, the panel follows.

/**
 * @param {HTMLElement} list The element with the role `tablist`
 * @param {(name: string) => void} onSelect Called with the id of a tab without its `tab-`
 */
export function connectTabs(list, onSelect) {
  const tabs = /** @type {HTMLElement[]} */ ([...list.querySelectorAll('[role=tab]')]);
  const nameOf = (/** @type {HTMLElement} */ tab) => tab.id.replace(/^tab-/, '');
  for (const tab of tabs) tab.addEventListener('click', () => onSelect(nameOf(tab)));
  list.addEventListener('keydown', (event) => {
    const at = tabs.indexOf(/** @type {HTMLElement} */ (event.target));
    const to = nextIndex(event.key, at, tabs.length);
    const tab = to === undefined ? undefined : tabs[to];
    if (at < 0 || tab === undefined) return;
    event.preventDefault();
    tab.focus();
    onSelect(nameOf(tab));
  });
  return (/** @type {string} */ name) => {
    for (const tab of tabs) {
      const isSelected = nameOf(tab) === name;
      tab.setAttribute('aria-selected', String(isSelected));
      tab.tabIndex = isSelected ? 0 : -1;
      const panel = document.getElementById(tab.getAttribute('aria-controls') ?? '');
      if (panel !== null) panel.hidden = !isSelected;
    }
  };
}

/**
 * @param {string} key
 * @param {number} at
 * @param {number} count
 */
function nextIndex(key, at, count) {
  if (key === 'ArrowRight') return (at + 1) % count;
  if (key === 'ArrowLeft') return (at + count - 1) % count;
  if (key === 'Home') return 0;
  return key === 'End' ? count - 1 : undefined;
}
