// Elements, numbers in words, and the parts that sections are made of. Text from data is only ever
// set as text, never as markup.
'use strict';

const owners = ['compute', 'copy', 'input', 'launch', 'sync', 'unexplained'];
const colour = owner => `var(--${owner})`;

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function shape(tag, attributes = {}, text) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

const time = s =>
  s < 1e-3 ? `${(s * 1e6).toFixed(1)} µs` : s < 1 ? `${(s * 1e3).toFixed(2)} ms` : `${s.toFixed(2)} s`;
const percent = x => `${(100 * x).toFixed(1)} %`;
const count = x => x.toLocaleString('en', { maximumFractionDigits: 0 });

function bytes(value) {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let unit = 0;
  for (; value >= 1000 && unit < 4; unit++) value /= 1000;
  return `${value.toFixed(unit ? 1 : 0)} ${units[unit]}`;
}

function section(title, size = '') {
  const made = element('section', { class: size }, element('h2', {}, title));
  document.querySelector('main').append(made);
  return made;
}

function meter(share, owner = 'compute') {
  const width = `${100 * Math.min(Math.max(share || 0, 0), 1)}%`;
  return element('div', { class: 'meter' },
    element('div', { style: `width:${width};background:${colour(owner)}` }));
}

// A cell is a text, a node, or {show, by}: by is what its column is sorted by.
function table(id, heads, rows) {
  const body = element('tbody');
  const fill = list => body.replaceChildren(...list.map(row => element('tr', {}, ...row.map(cell))));
  fill(rows);
  const titles = heads.map((head, column) => sortable(head, column, rows, fill));
  const made = element('table', {}, element('thead', {}, element('tr', {}, ...titles)), body);
  if (id) made.id = id;
  return made;
}

function cell(value) {
  const shown = value !== null && value.by !== undefined ? value.show : value;
  const made = element('td', {}, shown);
  if (shown instanceof Element && shown.className === 'meter') made.className = 'share';
  return made;
}

function sortable(head, column, rows, fill) {
  const made = element('th', {}, head);
  if (!rows.every(row => row[column] !== null && row[column].by !== undefined)) return made;
  made.className = 'sortable';
  made.onclick = () => {
    const ascending = made.getAttribute('aria-sort') === 'descending';
    for (const other of made.parentNode.children) other.removeAttribute('aria-sort');
    made.setAttribute('aria-sort', ascending ? 'ascending' : 'descending');
    const sign = ascending ? 1 : -1;
    fill([...rows].sort((a, b) => sign * (a[column].by - b[column].by)));
  };
  return made;
}

const number = (value, show) => ({ show: show(value), by: value });

// Shows a text beside the pointer while it is over a node.
function tip(node, text) {
  const box = document.getElementById('tip');
  node.addEventListener('pointermove', event => {
    box.textContent = typeof text === 'function' ? text(event) : text;
    box.hidden = false;
    box.style.left = `${Math.min(event.clientX + 14, innerWidth - box.offsetWidth - 8)}px`;
    box.style.top = `${Math.min(event.clientY + 14, innerHeight - box.offsetHeight - 8)}px`;
  });
  node.addEventListener('pointerleave', () => { box.hidden = true; });
  return node;
}
