// SPDX-License-Identifier: Apache-2.0
// Panels of the model's parts: the tree of bodies with a search, sliders of joints, switches of equalities, options.
import { OP } from './stream.js';

const $ = id => document.getElementById(id);
const SLIDE = 2, HINGE = 3;
const DISABLED = 4; // of options: the bits of flags that are off
const FLAGS = [['contact', 4], ['limits', 3], ['equalities', 1], ['dry friction', 2], ['actuators', 11], ['springs', 5], ['dampers', 6], ['gravity', 7], ['all constraints', 0]];

/** A slider with its name, value and range. */
export function slider(parent, name, [lo, hi], unit, send) {
  const label = document.createElement('label'), input = document.createElement('input'), value = document.createElement('output');
  Object.assign(input, { type: 'range', min: lo, max: hi, step: (hi - lo) / 500 || 0.01, value: 0, title: `${lo} to ${hi} ${unit}` });
  input.oninput = () => send(+input.value);
  value.className = 'number';
  label.className = 'slide';
  label.append(Object.assign(document.createElement('span'), { textContent: name, title: name }), input, value);
  parent.append(label);
  return { input, show(x) {
    if (document.activeElement !== input) input.value = x;
    value.textContent = `${x.toFixed(Math.abs(x) < 100 ? 3 : 1)} ${unit}`;
  } };
}

export class Bodies {
  constructor(scene, stream, pick) {
    Object.assign(this, { scene, stream, pick });
    this.tree();
    this.joints();
    this.equalities();
    this.options();
    for (const panel of ['joints', 'options']) $(panel).addEventListener('toggle', () => { if (this.frame) this.update(this.frame); }); // while paused no frame comes
  }

  options() {
    this.numbers = [...document.querySelectorAll('input.option')];
    this.numbers.forEach((input, i) => {
      input.onchange = () => { if (input.value !== '') this.stream.send(OP.OPTION, i, +input.value); };
    });
    this.flags = FLAGS.map(([name, bit]) => {
      const label = document.createElement('label'), box = document.createElement('input');
      box.type = 'checkbox';
      box.onchange = () => this.stream.send(OP.OPTION, DISABLED + bit, box.checked ? 0 : 1);
      label.append(box, name);
      $('flags').append(label);
      return { box, bit };
    });
  }

  tree() {
    const { bodies } = this.scene.description, depth = [0];
    this.rows = bodies.map((b, i) => {
      depth[i] = i ? depth[b.parent] + 1 : 0;
      const row = document.createElement('button');
      row.textContent = b.name || (i ? `body ${i}` : 'world');
      row.style.paddingLeft = `${6 + 10 * Math.min(depth[i], 12)}px`;
      row.onclick = () => this.pick(i);
      return row;
    });
    $('tree').append(...this.rows);
    $('find').oninput = () => {
      const want = $('find').value.toLowerCase();
      this.rows.forEach(row => { row.hidden = !row.textContent.toLowerCase().includes(want); });
    };
  }

  select(body) { this.rows.forEach((row, i) => row.classList.toggle('chosen', i === body)); }

  joints() {
    const { joints } = this.scene.description;
    this.sliders = joints.map((j, i) => ({ ...j, i })).filter(j => j.type === SLIDE || j.type === HINGE).map(j => {
      const range = j.limited ? j.range : j.type === HINGE ? [-Math.PI, Math.PI] : [-1, 1];
      return { qpos: j.qpos, ...slider($('jointsliders'), j.name || `joint ${j.i}`, range, j.type === HINGE ? 'rad' : 'm', x => this.stream.send(OP.JOINT, j.i, x)) };
    });
    $('joints').hidden = !this.sliders.length;
  }

  equalities() {
    const { equalities } = this.scene.description;
    $('equalities').hidden = !equalities.length;
    this.switches = equalities.map((e, i) => {
      const label = document.createElement('label'), box = document.createElement('input');
      box.type = 'checkbox';
      box.onchange = () => this.stream.send(OP.EQUALITY, i, box.checked ? 1 : 0);
      label.append(box, e.name || `equality ${i}`);
      $('equalityrows').append(label);
      return box;
    });
  }

  update(frame) {
    this.frame = frame;
    if ($('joints').open) this.sliders.forEach(s => s.show(frame.QPOS[s.qpos]));
    this.switches.forEach((box, i) => { box.checked = frame.EQUA[i] > 0; });
    if (!$('options').open) return;
    this.numbers.forEach((input, i) => { if (document.activeElement !== input) input.value = +frame.OPTI[i].toPrecision(6); });
    this.flags.forEach(({ box, bit }) => { box.checked = !(frame.OPTI[DISABLED] >> bit & 1); });
  }
}
