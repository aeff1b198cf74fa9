// SPDX-License-Identifier: Apache-2.0
// Fetches the scene, then draws whatever the newest frame says.
import * as THREE from './three.module.js';
import { Eye } from './camera.js';
import { Capture } from './capture.js';
import { Contacts } from './contacts.js';
import { Markers } from './markers.js';
import { Marks } from './marks.js';
import { Mouse } from './mouse.js';
import { Panel } from './panel.js';
import { Plots } from './plots.js';
import { Scene } from './scene.js';
import { Skins } from './skins.js';
import { Softs } from './soft.js';
import { Stream } from './stream.js';
import { Worlds } from './worlds.js';

async function fetched(name, as) {
  const answer = await fetch(name);
  if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
  return answer[as]();
}

async function main() {
  const [description, data] = await Promise.all([fetched('scene.json', 'json'), fetched('meshes.bin', 'arrayBuffer')]);
  const canvas = document.getElementById('view'), stage = document.getElementById('stage');
  const renderer = new THREE.WebGLRenderer({ canvas, antialias: true });
  renderer.shadowMap.enabled = true;
  renderer.shadowMap.type = THREE.PCFShadowMap;
  renderer.setPixelRatio(Math.min(devicePixelRatio, 2));

  const scene = new Scene(description, data), eye = new Eye(scene, canvas), contacts = new Contacts(scene), softs = new Softs(scene, data), skins = new Skins(scene, data), marks = new Marks(scene, stage);
  const draw = () => renderer.render(scene.root, eye.camera);
  const capture = new Capture(canvas, draw, description.title);
  let newest = null, panel = null, received = 0, drawn = 0;
  const stream = new Stream(frame => { newest = frame; received++; plots.update(frame); }, on => panel?.connected(on));
  panel = new Panel({ scene, stream, eye, contacts, softs, capture, marks });
  const worlds = panel.worlds = new Worlds(scene, eye, stream);
  const mouse = new Mouse(canvas, scene, eye, stream, worlds, selected => panel.select(selected));
  const markers = new Markers(scene, eye, mouse, stage);
  panel.pick = body => mouse.choose(body);
  const plots = new Plots(description, document.getElementById('plots'), document.getElementById('addplot'));
  document.title = `${description.title || 'scene'} · Stiction`;

  const fit = () => renderer.setSize(stage.clientWidth, stage.clientHeight, false);
  new ResizeObserver(fit).observe(stage);
  fit();
  let before = null;
  renderer.setAnimationLoop(() => {
    if (newest && newest !== before) {
      scene.update(newest);
      contacts.update(newest);
      softs.update(newest);
      skins.update(newest);
      if (!before) eye.frameFirst(stage.clientWidth / Math.max(1, stage.clientHeight), softs);
      before = newest;
      worlds.update(newest);
      markers.update(newest);
      panel.update(newest);
    }
    softs.ask(stream, performance.now());
    mouse.update(markers.wrench);
    eye.update(stage.clientWidth / Math.max(1, stage.clientHeight));
    marks.update(eye.camera);
    markers.draw(eye.camera);
    plots.draw();
    draw();
    drawn++;
  });
  // for the console and for tests
  window.viewer = { scene, eye, contacts, softs, skins, marks, markers, stream, mouse, worlds, plots, panel, capture, THREE,
                    get frame() { return newest; }, get received() { return received; }, get drawn() { return drawn; } };
}

main().catch(error => {
  const message = document.getElementById('message');
  message.textContent = `The viewer cannot start: ${error.message}`;
  message.hidden = false;
  throw error;
});
