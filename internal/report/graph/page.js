
'use strict';
// Every text of the data was written by somebody else. It is only ever set as
// text or compared, never as markup.
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const {nodes, edges, columns, kinds} = data;
  const byId = id => document.getElementById(id);
  const svg = byId('picture'), panel = byId('panel'), find = byId('find'), found = byId('found');
  const WIDTH = 236, HEIGHT = 28, GAP_X = 96, GAP_Y = 10, LETTERS = 28;

  // What each node is linked to: the numbers of edges.
  const needs = nodes.map(() => []), neededBy = nodes.map(() => []);
  edges.forEach(([from, to], e) => { needs[from].push(e); neededBy[to].push(e); });
  const stackOf = new Map(), moduleOf = new Map();
  nodes.forEach((n, i) => (n.kind === 'module' ? moduleOf : stackOf).set(n.name, i));

  const column = [], row = [], x = [], y = [];
  columns.forEach((c, at) => c.nodes.forEach((i, r) => {
    column[i] = at; row[i] = r;
    x[i] = at * (WIDTH + GAP_X);
    y[i] = (r - (c.nodes.length - 1) / 2) * (HEIGHT + GAP_Y);
  }));

  const make = (name, attributes, text) => {
    const el = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const key in attributes) el.setAttribute(key, attributes[key]);
    if (text !== undefined) el.textContent = text;
    return el;
  };
  const element = (name, text, children) => {
    const el = document.createElement(name);
    if (text !== undefined) el.textContent = text;
    (children || []).forEach(c => el.append(c));
    return el;
  };

  // Edges of one kind are one path: thousands of elements would be slow.
  const curve = e => {
    const [from, to] = edges[e];
    const y1 = y[to] + HEIGHT / 2, y2 = y[from] + HEIGHT / 2;
    if (column[from] === column[to]) {
      return `M${x[to]} ${y1}C${x[to] - 50} ${y1} ${x[from] - 50} ${y2} ${x[from]} ${y2}`;
    }
    const x1 = x[to] + WIDTH, x2 = x[from], bend = GAP_X / 2;
    return `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
  };
  const view = make('g', {}), lines = make('g', {class: 'edges', 'aria-hidden': 'true'});
  const layers = {};
  kinds.forEach((kind, k) => {
    const d = edges.map((e, i) => e[2] === k ? curve(i) : '').join('');
    lines.append(make('path', {class: 'all ' + kind, d}));
  });
  for (const name of ['why', 'up', 'down']) lines.append(layers[name] = make('path', {class: name, d: ''}));
  view.append(lines);

  columns.forEach((c, at) => view.append(make('text', {
    class: 'title' + (c.title === 'modules' ? ' modules' : ''),
    x: at * (WIDTH + GAP_X), y: -(c.nodes.length - 1) / 2 * (HEIGHT + GAP_Y) - 14,
  }, c.title + ' (' + c.nodes.length + ')')));

  const shorten = name => {
    const letters = Array.from(name);
    return letters.length <= LETTERS ? name : '…' + letters.slice(1 - LETTERS).join('');
  };
  const drawn = nodes.map((n, i) => {
    const words = [n.name, n.note, n.reasons && 'affected: ' + n.reasons].filter(Boolean).join(', ');
    const g = make('g', {
      class: 'node ' + n.kind + (n.reasons ? ' affected' : ''), role: 'button', tabindex: -1,
      transform: `translate(${x[i]},${y[i]})`, 'aria-label': words,
    });
    g.append(make('title', {}, words), make('rect', {width: WIDTH, height: HEIGHT, rx: 5}),
      make('text', {x: 10, y: 19}, shorten(n.name)));
    g.addEventListener('click', () => { if (!moved) select(i); });
    g.addEventListener('focus', () => { current = i; reveal(i); });
    return g;
  });
  columns.forEach(c => c.nodes.forEach(i => view.append(drawn[i])));
  svg.append(view);

  // Pan and zoom.
  let scale = 1, left = 0, top = 0, moved = false, touched = false, current = -1, selected = -1;
  const paint = () => view.setAttribute('transform', `translate(${left},${top}) scale(${scale})`);
  const zoom = (factor, px, py) => {
    const box = svg.getBoundingClientRect();
    px = px ?? box.width / 2; py = py ?? box.height / 2;
    const next = Math.min(3, Math.max(.03, scale * factor));
    left = px - (px - left) * next / scale; top = py - (py - top) * next / scale;
    scale = next; touched = true; paint();
  };
  const fit = () => {
    const box = svg.getBoundingClientRect();
    const tall = Math.max(1, ...columns.map(c => c.nodes.length)) * (HEIGHT + GAP_Y) + 60;
    const wide = Math.max(1, columns.length) * (WIDTH + GAP_X);
    scale = Math.min(1.2, Math.max(.03, Math.min(box.width / (wide + 20), box.height / (tall + 20))));
    left = (box.width - (wide - GAP_X) * scale) / 2; top = (box.height + 10 * scale) / 2; paint();
  };
  const reveal = i => {
    const box = svg.getBoundingClientRect(), edge = 20;
    const x1 = left + x[i] * scale, y1 = top + y[i] * scale;
    const x2 = x1 + WIDTH * scale, y2 = y1 + HEIGHT * scale;
    if (x1 < edge) left += edge - x1; else if (x2 > box.width - edge) left -= x2 - box.width + edge;
    if (y1 < edge) top += edge - y1; else if (y2 > box.height - edge) top -= y2 - box.height + edge;
    paint();
  };
  // visit selects what may be far away, and goes there in a size that can be read.
  const visit = i => {
    select(i);
    if (scale < .5) {
      const box = svg.getBoundingClientRect();
      scale = .8; touched = true;
      left = box.width / 2 - (x[i] + WIDTH / 2) * scale; top = box.height / 2 - (y[i] + HEIGHT / 2) * scale;
    }
    reveal(i);
  };
  svg.addEventListener('wheel', e => {
    e.preventDefault();
    const box = svg.getBoundingClientRect();
    zoom(Math.exp(-e.deltaY * .0015), e.clientX - box.left, e.clientY - box.top);
  }, {passive: false});
  const fingers = new Map(); // pointers that are down: one pans, two pinch
  svg.addEventListener('pointerdown', e => { fingers.set(e.pointerId, [e.clientX, e.clientY]); moved = false; });
  window.addEventListener('pointermove', e => {
    const was = fingers.get(e.pointerId);
    if (!was) return;
    const dx = e.clientX - was[0], dy = e.clientY - was[1];
    if (!moved && Math.hypot(dx, dy) < 4) return;
    moved = touched = true; svg.classList.add('dragged');
    const other = [...fingers].find(([id]) => id !== e.pointerId);
    fingers.set(e.pointerId, [e.clientX, e.clientY]);
    if (other) {
      const [ox, oy] = other[1], box = svg.getBoundingClientRect();
      zoom(Math.hypot(e.clientX - ox, e.clientY - oy) / Math.max(1, Math.hypot(was[0] - ox, was[1] - oy)), ox - box.left, oy - box.top);
    } else { left += dx; top += dy; paint(); }
  });
  for (const name of ['pointerup', 'pointercancel']) {
    window.addEventListener(name, e => { fingers.delete(e.pointerId); svg.classList.remove('dragged'); });
  }

  // What a node leads to, along the edges that next gives.
  const reach = (start, next, end) => {
    const seen = new Set([start]), used = [], work = [start];
    while (work.length) {
      for (const e of next[work.pop()]) {
        used.push(e);
        const j = edges[e][end];
        if (!seen.has(j)) { seen.add(j); work.push(j); }
      }
    }
    seen.delete(start);
    return {seen, used};
  };
  // The edges along which a change came to a node.
  const whyEdges = start => {
    const seen = new Set([start]), used = [], work = [start];
    while (work.length) {
      const i = work.pop();
      const from = new Set((nodes[i].why || []).map(([reason, name]) => (reason === 'module' ? moduleOf : stackOf).get(name)));
      for (const e of needs[i]) {
        const j = edges[e][1];
        if (!from.has(j)) continue;
        used.push(e);
        if (!seen.has(j)) { seen.add(j); work.push(j); }
      }
    }
    return used;
  };
  const select = i => {
    selected = i;
    const up = i < 0 ? null : reach(i, needs, 1), down = i < 0 ? null : reach(i, neededBy, 0);
    svg.classList.toggle('focus', i >= 0);
    drawn.forEach((g, j) => {
      g.classList.toggle('selected', j === i);
      g.classList.toggle('up', i >= 0 && up.seen.has(j));
      g.classList.toggle('down', i >= 0 && down.seen.has(j));
    });
    const path = list => list.map(curve).join('');
    layers.up.setAttribute('d', i < 0 ? '' : path(up.used));
    layers.down.setAttribute('d', i < 0 ? '' : path(down.used));
    layers.why.setAttribute('d', i < 0 ? '' : path(whyEdges(i)));
    if (i >= 0) { show(i, up.seen.size, down.seen.size); rove(i); } else overview();
  };

  // The panel.
  const link = i => {
    const b = element('button', nodes[i].name);
    b.type = 'button';
    b.addEventListener('click', () => visit(i));
    return b;
  };
  const list = (title, items) => {
    if (items.length) panel.append(element('h3', title), element('ul', undefined, items.map(item => element('li', undefined, [].concat(item)))));
  };
  const show = (i, up, down) => {
    const n = nodes[i];
    panel.replaceChildren(element('h2', n.name));
    if (n.note) panel.append(element('p', n.note));
    if (n.facts) panel.append(element('dl', undefined, n.facts.flatMap(([k, v]) => [element('dt', k), element('dd', v)])));
    list('Affected, because', (n.why || []).map(([reason, name]) => {
      const j = reason === 'requested' ? undefined : (reason === 'module' ? moduleOf : stackOf).get(name);
      const node = reason === 'module' || reason === 'reads_state' || reason === 'dependent' ? j : undefined;
      return [reason + ' ', node === undefined ? name : link(node)];
    }));
    list('Depends on (' + up + ' in all)', needs[i].map(e => [link(edges[e][1]), ' ' + kinds[edges[e][2]]]));
    list('Needed by (' + down + ' in all)', neededBy[i].map(e => [link(edges[e][0]), ' ' + kinds[edges[e][2]]]));
  };
  const overview = () => {
    const stacks = nodes.filter(n => n.kind === 'stack').length, affected = nodes.filter(n => n.reasons).length;
    panel.replaceChildren(element('h2', stacks + ' stacks' + (data.compared ? ', ' + affected + ' affected' : '')));
    const legend = [['', 'stack'], ['absent', 'not in this repository'], ['module', 'module'], ['up', 'what the selected one depends on'], ['down', 'what needs the selected one']];
    if (data.compared) legend.splice(1, 0, ['affected', 'affected']);
    panel.append(element('ul', undefined, legend.map(([name, text]) => {
      const swatch = element('span');
      swatch.className = name;
      return element('li', undefined, [swatch, text]);
    })));
    panel.lastChild.className = 'legend';
    list('Affected', nodes.flatMap((n, i) => n.reasons ? [[link(i), ' ' + n.reasons]] : []));
    list('Warnings', data.warnings.map(w => [w]));
  };

  // Keys: one node is in the order of tabs, arrows go on from there.
  const rove = i => {
    if (current >= 0) drawn[current].setAttribute('tabindex', -1);
    current = i;
    drawn[i].setAttribute('tabindex', 0);
  };
  const shown = c => c >= 0 && c < columns.length && !(columns[c].title === 'modules' && svg.classList.contains('plain'));
  const step = key => {
    const nodesHere = columns[column[current]].nodes;
    if (key === 'ArrowUp') return nodesHere[row[current] - 1];
    if (key === 'ArrowDown') return nodesHere[row[current] + 1];
    const c = column[current] + (key === 'ArrowLeft' ? -1 : 1);
    if (!shown(c)) return undefined;
    return columns[c].nodes.reduce((best, j) => Math.abs(y[j] - y[current]) < Math.abs(y[best] - y[current]) ? j : best);
  };
  svg.addEventListener('keydown', e => {
    if (current < 0) return;
    if (e.key.startsWith('Arrow')) {
      const next = step(e.key);
      if (next !== undefined) { rove(next); drawn[next].focus(); }
    } else if (e.key === 'Enter' || e.key === ' ') select(current);
    else return;
    e.preventDefault();
  });
  document.addEventListener('keydown', e => {
    if (e.key === 'Escape') { find.value = ''; search(); select(-1); return; }
    if (e.target === find || e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key === '/') { e.preventDefault(); find.focus(); }
    if (e.key === '+') zoom(1.25);
    if (e.key === '-') zoom(.8);
    if (e.key === '0') fit();
  });

  // Search.
  let matches = [], at = -1;
  const search = () => {
    const text = find.value.toLowerCase();
    matches = text ? columns.flatMap(c => c.nodes).filter(i => nodes[i].name.toLowerCase().includes(text)) : [];
    at = -1;
    const marked = new Set(matches);
    drawn.forEach((g, i) => g.classList.toggle('match', marked.has(i)));
    found.value = text ? matches.length + ' found' : '';
  };
  find.addEventListener('input', search);
  find.addEventListener('keydown', e => {
    if (e.key !== 'Enter' || !matches.length) return;
    at = (at + (e.shiftKey ? matches.length - 1 : 1)) % matches.length;
    visit(matches[at]);
  });

  byId('in').addEventListener('click', () => zoom(1.25));
  byId('out').addEventListener('click', () => zoom(.8));
  byId('fit').addEventListener('click', fit);
  byId('modules').addEventListener('change', e => svg.classList.toggle('plain', !e.target.checked));
  byId('affected').addEventListener('change', e => svg.classList.toggle('narrow', e.target.checked));
  byId('modules-label').hidden = !moduleOf.size;
  byId('affected-label').hidden = !data.compared;
  svg.removeAttribute('hidden');
  byId('controls').hidden = false;
  const first = columns.flatMap(c => c.title === 'modules' ? [] : c.nodes)[0] ?? columns[0]?.nodes[0];
  if (first !== undefined) rove(first);
  overview();
  fit();
  window.addEventListener('resize', () => { if (!touched) fit(); });

  // A link may name what to select: graph.html#infra/network
  const wanted = stackOf.get(decodeURIComponent(location.hash.slice(1)));
  if (wanted !== undefined) visit(wanted);
})();
