// SPDX-License-Identifier: Apache-2.0
// Everything around the picture: buttons, sliders, the values of what is selected, the time line.
import { Bodies, slider } from './bodies.js';
import { GRADIENT } from './soft.js';
import { NOTHING, OP } from './stream.js';

const $ = id => document.getElementById(id);
const show = x => (Math.abs(x) >= 1e4 || (x !== 0 && Math.abs(x) < 1e-3) ? x.toExponential(2) : x.toFixed(3));
const pascal = x => (x >= 1e6 ? `${(x / 1e6).toPrecision(3)} MPa` : x >= 1e3 ? `${(x / 1e3).toPrecision(3)} kPa` : `${x.toPrecision(3)} Pa`);
const list = values => Array.from(values, show).join('  ');
const named = (kind, item, i) => item.name || `${kind} ${i}`;
const WIDTH = { q: [7, 4, 1, 1], v: [6, 3, 1, 1] }, JOINTS = ['free', 'ball', 'slide', 'hinge'];
const SHAPES = ['plane', 'hfield', 'sphere', 'capsule', 'ellipsoid', 'cylinder', 'box', 'mesh'];

export class Panel {
  constructor({ scene, stream, eye, contacts, softs, capture, marks }) {
    Object.assign(this, { scene, stream, eye, contacts, softs, capture, marks, selected: null, frame: null });
    this.bar();
    this.past();
    this.view();
    this.sliders();
    this.soft();
    this.bodies = new Bodies(scene, stream, body => this.pick(body));
    this.keys();
  }

  // ---- making it ----------------------------------------------------------------------------------

  bar() {
    const { stream, scene } = this, keys = scene.description.keys;
    this.play = () => stream.send(OP.PAUSE, this.running() ? 1 : 0);
    this.step = () => stream.send(OP.STEP, 1);
    this.reset = () => stream.send(OP.RESET, $('key').value === '' ? NOTHING : +$('key').value);
    this.all = () => this.eye.frameAll(this.worlds?.meshes);
    this.near = () => { if (this.selected) this.eye.frameBody(this.selected.body); };
    this.wire = () => [...$('toggles').querySelectorAll('label')].find(l => l.textContent === 'wireframe').click();
    this.help = () => { $('help').hidden = !$('help').hidden; };
    $('all').onclick = this.all;
    $('pose').onclick = () => this.capture.save(new Blob([this.keyframe()], { type: 'text/xml' }), 'pose.xml');
    $('ask').onclick = this.help;
    $('play').onclick = this.play;
    $('step').onclick = this.step;
    $('reset').onclick = this.reset;
    $('key').hidden = !keys.length;
    $('key').append(new Option('start', ''), ...keys.map((k, i) => new Option(named('key', k, i), i)));
    $('key').onchange = this.reset;
    $('speed').onchange = () => stream.send(OP.SPEED, 0, +$('speed').value);
    $('photo').onclick = () => this.capture.picture();
    $('film').onclick = () => $('film').classList.toggle('on', this.capture.video());
    $('record').onclick = () => stream.send(OP.RECORD, this.frame?.head.recording ? 0 : 1);
  }

  /** The pose that is shown as a key element, to seven digits, as frames have it. */
  keyframe() {
    const text = values => Array.from(values, x => +x.toPrecision(7)).join(' '), { QPOS, QVEL, CTRL, head } = this.frame;
    const control = CTRL.length ? ` ctrl="${text(CTRL)}"` : '';
    return `<key name="pose" time="${head.time}" qpos="${text(QPOS)}" qvel="${text(QVEL)}"${control}/>\n`;
  }

  past() {
    const { stream } = this;
    $('time').oninput = () => stream.send(OP.SEEK, +$('time').value);
    $('replay').onclick = () => stream.send(OP.REPLAY, this.frame?.head.replaying ? 0 : 1);
    $('live').onclick = () => stream.send(OP.LIVE);
    $('resume').onclick = () => stream.send(OP.RESUME);
  }

  check(parent, text, on, change) {
    const label = document.createElement('label'), box = document.createElement('input');
    box.type = 'checkbox';
    box.checked = on;
    box.onchange = () => change(box.checked);
    label.append(box, text);
    parent.append(label);
  }

  view() {
    const { scene, eye } = this;
    $('camera').append(new Option('free', -1), ...scene.description.cameras.map((c, i) => new Option(named('camera', c, i), i)));
    $('camera').onchange = () => eye.choose(+$('camera').value);
    for (const [name, on] of [['shadows', true], ['tendons', true], ['sites', false], ['frames', false], ['cameras', false], ['lights', false]])
      this.check($('toggles'), name, on, value => scene.show(name, value));
    for (const [name, on] of [['inertia', false], ['wireframe', false]]) this.check($('toggles'), name, on, value => this.marks.show(name, value));
    $('named').onchange = () => { this.marks.names = $('named').value; };
    scene.groups.forEach((on, i) => this.check($('groups'), `group ${i}`, on, value => { scene.groups[i] = value; scene.showGroups(); this.softs.showGroups(); }));
    $('look').onchange = () => this.stream.send(OP.LOOK, NOTHING, +$('look').value);
    $('arrow').oninput = () => { this.contacts.factor = 10 ** +$('arrow').value; this.contacts.update(this.frame); };
  }

  sliders() {
    const { actuators } = this.scene.description;
    $('actuators').hidden = !actuators.length;
    $('actuators').open = actuators.length > 0 && actuators.length <= 8;
    this.controls = actuators.map((a, i) => {
      return slider($('sliders'), named('actuator', a, i), a.limited ? a.range : [-1, 1], '', x => this.stream.send(OP.CONTROL, i, x));
    });
  }

  soft() {
    const { softs } = this;
    $('softs').hidden = !softs.present;
    $('stressrow').hidden = !softs.skins.length;
    for (const bar of document.querySelectorAll('.ramp')) bar.style.background = GRADIENT;
    this.check($('stresstoggle'), 'stress (von Mises)', softs.stress, on => { softs.stress = on; softs.asked = undefined; softs.update(this.frame); });
    this.check($('patchtoggle'), 'pressure patches', softs.patches, on => { softs.patches = on; softs.update(this.frame); });
  }

  keys() {
    addEventListener('keydown', event => {
      if (/INPUT|SELECT|BUTTON/.test(event.target.tagName)) return;
      const action = { ' ': this.play, ArrowRight: this.step, Backspace: this.reset, a: this.all, f: this.near, w: this.wire, '?': this.help, Escape: () => { $('help').hidden = true; } }[event.key];
      if (action) event.preventDefault(), action();
    });
  }

  // ---- keeping it up to date -------------------------------------------------------------------------------

  running() {
    const h = this.frame?.head;
    return h ? (h.replay ? h.replaying : !h.paused) : false;
  }

  connected(on) {
    this.online = on;
    this.message(on ? '' : 'The simulation has gone; trying to reach it again.');
  }

  message(text) {
    $('message').textContent = text;
    $('message').hidden = !text;
  }

  update(frame) {
    const h = frame.head;
    this.frame = frame;
    $('play').textContent = this.running() ? 'Pause' : 'Play';
    $('clock').textContent = `${h.time.toFixed(3)} s`;
    $('rate').textContent = this.running() && !h.past ? `×${h.rate.toPrecision(2)}` : '';
    $('record').hidden = !h.recorder;
    $('record').classList.toggle('on', h.recording);
    if (document.activeElement !== $('speed')) $('speed').value = [...$('speed').options].map(o => +o.value).find(v => Math.abs(v - h.speed) < 1e-6) ?? $('speed').value;
    if (document.activeElement !== $('look')) $('look').value = frame.LOOK[0];
    this.updatePast(h);
    this.updateSliders(frame);
    this.updateSelection(frame);
    this.updateProfile(frame);
    this.updateSoft(frame);
    this.bodies.update(frame);
    $('contactcount').textContent = `${frame.CONT.length / 19} contact${frame.CONT.length === 19 ? '' : 's'}`;
    if (this.online) this.message(frame.TEXT ?? '');
  }

  updatePast(h) {
    const bar = $('time');
    bar.min = h.first;
    bar.max = Math.max(h.first, h.last);
    if (!h.past || document.activeElement !== bar || h.replaying) bar.value = h.shown;
    $('replay').textContent = h.replaying ? 'Stop' : 'Replay';
    $('pasttime').textContent = h.past ? `frame ${h.shown - h.first + 1} of ${h.last - h.first + 1}` : `last ${(h.to - h.from).toFixed(1)} s`;
    $('live').disabled = $('resume').disabled = !h.past || h.replay;
    $('step').disabled = h.replay;
  }

  updateSliders(frame) {
    this.controls.forEach((control, i) => control.show(frame.CTRL[i]));
  }

  updateSoft(frame) {
    const { softs } = this;
    $('stressbar').hidden = !softs.stress || !frame.STRS;
    $('patchbar').hidden = !softs.count;
    $('stressend').textContent = pascal(softs.stressScale.end);
    $('patchend').textContent = pascal(softs.pressureScale.end);
  }

  // ---- the selection -----------------------------------------------------------------------------------------

  select(selected) {
    this.selected = selected;
    this.bodies.select(selected?.body ?? -1);
    if (this.frame) this.updateSelection(this.frame, true);
  }

  rows(frame, { body, index }) {
    const { bodies, joints, geoms } = this.scene.description, b = frame.BODY.subarray(7 * body, 7 * body + 7), g = geoms[index];
    const rows = [['body', named('body', bodies[body], body)], ['geom', `${named('geom', g, index)} (${SHAPES[g.type]})`],
                  ['parent', named('body', bodies[bodies[body].parent], bodies[body].parent)], ['mass', `${show(bodies[body].mass)} kg`],
                  ['position', list(b.subarray(0, 3))], ['quaternion', list(b.subarray(3))]];
    joints.forEach((j, i) => {
      if (j.body !== body) return;
      rows.push([`${named('joint', j, i)} (${JOINTS[j.type]})`, list(frame.QPOS.subarray(j.qpos, j.qpos + WIDTH.q[j.type]))]);
      rows.push(['velocity', list(frame.QVEL.subarray(j.dof, j.dof + WIDTH.v[j.type]))]);
    });
    let n = 0, normal = 0;
    for (let i = 0; i + 19 <= frame.CONT.length; i += 19)
      if (geoms[frame.CONT[i]]?.body === body || geoms[frame.CONT[i + 1]]?.body === body) n++, normal += frame.CONT[i + 16];
    return [...rows, ['contacts', `${n}, normal forces ${show(normal)} N`]];
  }

  updateSelection(frame, anew = false) {
    if (!this.selected) {
      if (anew) $('selection').innerHTML = '<p class="dim">Click a body. Ctrl and drag pulls it, Shift and drag twists it.</p>';
      return;
    }
    const rows = this.rows(frame, this.selected), { body } = this.selected;
    if (anew || !this.table) this.makeTable(rows, body);
    [...this.table.rows].forEach((row, i) => { row.cells[1].textContent = rows[i]?.[1] ?? ''; });
    if (document.activeElement !== this.bodyLook) this.bodyLook.value = frame.LOOK[1 + body];
  }

  makeTable(rows, body) {
    this.table = document.createElement('table');
    for (const [name] of rows) {
      const row = this.table.insertRow();
      row.insertCell().textContent = name;
      row.insertCell();
    }
    const label = document.createElement('label'), tools = document.createElement('div');
    this.bodyLook = document.createElement('select');
    this.bodyLook.id = 'bodylook';
    this.bodyLook.append(new Option('as the scene', 3), new Option('hidden', 0), new Option('force', 1), new Option('frame', 2));
    this.bodyLook.onchange = () => this.stream.send(OP.LOOK, body, +this.bodyLook.value);
    label.append('Its contacts', this.bodyLook);
    tools.className = 'rows';
    tools.append(label);
    this.check(tools, 'camera follows', this.eye.follow === body, on => this.eye.track(on ? body : -1));
    $('selection').replaceChildren(this.table, tools);
  }

  updateProfile(frame) {
    if (!frame.PROF || !$('profile').parentElement.open) return;
    const names = frame.PNAM.trim().split('\n'), most = Math.max(...frame.PROF, 1e-9);
    $('profile').replaceChildren(...names.flatMap((line, i) => {
      if (!(frame.PROF[i] > 0)) return []; // it did not run
      const row = document.createElement('div'), bar = document.createElement('div');
      row.style.paddingLeft = `${12 * +line[0]}px`;
      row.textContent = `${line.slice(1)}  ${frame.PROF[i].toFixed(1)} µs`;
      bar.className = 'bar';
      bar.style.width = `${100 * frame.PROF[i] / most}%`;
      row.append(bar);
      return [row];
    }));
  }
}
