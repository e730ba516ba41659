// Elements without markup: every text becomes a text node.

import { printable } from './format.js';

/**
 * @typedef {string | number | boolean | undefined | ((event: Event) => void)} Attribute
 * @typedef {Node | string | undefined} Child
 */

/**
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Record<string, Attribute>} [attributes] `on...` adds a listener, `class` sets the class; undefined and false
 *   are left out
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (typeof value === 'function') made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? '' : String(value));
  }
  made.append(
    ...children
      .filter((child) => child !== undefined)
      .map((child) => (typeof child === 'string' ? printable(child) : child)),
  );
  return made;
}

/**
 * Sets the text of an element if it differs.
 *
 * @param {Element} target
 * @param {string} text
 */
export function setText(target, text) {
  const shown = printable(text);
  if (target.textContent !== shown) target.textContent = shown;
}

/**
 * @param {Element} target
 * @param {string} name
 * @param {string | undefined} value
 */
export function setAttribute(target, name, value) {
  if (value === undefined) target.removeAttribute(name);
  else if (target.getAttribute(name) !== value) target.setAttribute(name, value);
}

/**
 * The address of a pod's view. A text that is no valid Unicode is not a UID.
 *
 * @param {string} uid
 */
export function podAddress(uid) {
  return `#/pods/${encodeURIComponent(uid.toWellFormed())}`;
}

/**
 * The element of the page with this id.
 *
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no element ${id}`);
  return found;
}
