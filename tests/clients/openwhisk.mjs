// Uses every feature of the published npm package `openwhisk` on the platform given by __OW_API_HOST
// and __OW_API_KEY. Fails if anything differs from OpenWhisk.
import assert from 'node:assert/strict'
import openwhisk from 'openwhisk'

const ow = openwhisk()
const echo = 'def main(args):\n    print("called")\n    return args\n'
const failing = 'def main(args):\n    return {"error": "on purpose"}\n'
const feed = 'def main(args):\n    return {"event": args["lifecycleEvent"], "trigger": args["triggerName"], "key": args["authKey"]}\n'
const page = 'def main(args):\n    return {"body": "hello " + args.get("name", "nobody")}\n'

// Everything recorded in the background is visible within this time.
const DEADLINE = 180_000

async function eventually (what, ask) {
  const end = Date.now() + DEADLINE
  for (;;) {
    const found = await ask()
    if (found) return found
    assert(Date.now() < end, `${what} did not come to be`)
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}

async function refused (status, promise) {
  await assert.rejects(promise, error => {
    assert.equal(error.name, 'OpenWhiskError')
    assert.equal(error.statusCode, status, error.message)
    return true
  })
}

const names = list => list.map(entity => entity.name).sort()
const value = (fields, key) => fields.find(field => field.key === key)?.value

async function namespaces () {
  assert.deepEqual(await ow.namespaces.list(), ['guest'])
  const all = await ow.namespaces.get()
  assert.deepEqual(Object.keys(all).sort(), ['actions', 'packages', 'rules', 'triggers'])
}

async function actions () {
  const created = await ow.actions.create({
    name: 'echo', action: echo, kind: 'python:default', params: { greeting: 'hi' },
    annotations: { about: 'repeats' }, limits: { timeout: 60000, memory: 256 }
  })
  assert.equal(created.namespace, 'guest')
  assert.equal(created.version, '0.0.1')
  assert.match(created.exec.kind, /^python:3/)
  assert.deepEqual(created.parameters, [{ key: 'greeting', value: 'hi' }])
  assert.equal(value(created.annotations, 'about'), 'repeats')
  assert.equal(value(created.annotations, 'exec'), created.exec.kind)
  await refused(409, ow.actions.create({ name: 'echo', action: echo, kind: 'python:default' }))
  await refused(404, ow.actions.get('missing'))
  await refused(400, ow.actions.create({ name: 'odd', action: echo, kind: 'no-such:kind' }))

  const updated = await ow.actions.update({ name: 'echo', action: echo, kind: 'python:default', version: '1.2.3' })
  assert.equal(updated.version, '1.2.3')
  assert.deepEqual(updated.parameters, [{ key: 'greeting', value: 'hi' }])
  assert.equal((await ow.actions.get({ name: 'echo' })).exec.code, echo)
  assert.equal((await ow.actions.get({ name: 'echo', code: false })).exec.code, undefined)

  await ow.actions.create({ name: 'failing', action: failing, kind: 'python:default' })
  await ow.actions.create({ name: 'twice', sequence: ['/_/echo', '/_/echo'] })
  assert.deepEqual(names(await ow.actions.list()), ['echo', 'failing', 'twice'])
  assert.deepEqual(names(await ow.actions.list({ limit: 1, skip: 2 })), ['echo'])
  assert.deepEqual(await ow.actions.list({ count: true }), { actions: 3 })

  const result = await ow.actions.invoke({ name: 'echo', blocking: true, result: true, params: { a: [1, 'é'] } })
  assert.deepEqual(result, { greeting: 'hi', a: [1, 'é'] })
  const record = await ow.actions.invoke({ name: '/guest/echo', blocking: true })
  assert.match(record.activationId, /^[0-9a-f]{32}$/)
  assert.equal(record.response.status, 'success')
  await refused(502, ow.actions.invoke({ name: 'failing', blocking: true, result: true }))
  await assert.rejects(ow.actions.invoke({ name: 'failing', blocking: true }), /on purpose/)
  const twice = await ow.actions.invoke({ name: 'twice', blocking: true, result: true, params: { b: 2 } })
  assert.deepEqual(twice, { b: 2, greeting: 'hi' })
  const several = await ow.actions.invoke(['echo', 'twice'])
  assert.equal(several.length, 2)
  assert(several.every(it => /^[0-9a-f]{32}$/.test(it.activationId)))
}

async function activations () {
  const { activationId: id } = await ow.actions.invoke({ name: 'echo', params: { n: 1 } })
  const record = await eventually('a record', () => ow.activations.get(id).catch(error => {
    assert.equal(error.statusCode, 404)
  }))
  assert.equal(record.name, 'echo')
  assert.equal(value(record.annotations, 'path'), 'guest/echo')
  assert(record.end >= record.start && record.duration >= 0)
  assert.deepEqual(record.response.result, { greeting: 'hi', n: 1 })
  const { logs } = await eventually('a log', async () => {
    const found = await ow.activations.logs({ activationId: id })
    return found.logs.length > 0 && found
  })
  assert.match(logs[0], /^\d{4}-\d\d-\d\dT\S+Z +stdout: called$/)
  const result = await ow.activations.result({ name: id })
  assert.deepEqual([result.success, result.status, result.result.n], [true, 'success', 1])

  const listed = await ow.activations.list({ name: 'echo', limit: 200 })
  assert(listed.some(it => it.activationId === id && it.statusCode === 0))
  assert(listed.every((it, at) => at === 0 || it.start <= listed[at - 1].start))
  const docs = await ow.activations.list({ docs: true, limit: 1, since: record.start, upto: record.start })
  assert(docs[0].response.result)
  const { activations: count } = await ow.activations.list({ count: true, name: 'echo' })
  assert(count >= 3)
  await refused(400, ow.activations.get('no-id'))
  await refused(404, ow.activations.get('0'.repeat(32)))
}

async function packages () {
  await ow.packages.create({ name: 'tools', package: { parameters: [{ key: 'from', value: 'package' }] } })
  await ow.packages.update({ name: 'tools', package: { publish: true } })
  await ow.packages.create({
    name: 'bound',
    package: { binding: { namespace: '_', name: 'tools' }, parameters: [{ key: 'bound', value: true }] }
  })
  await ow.actions.create({ name: 'tools/echo', action: echo, kind: 'python:default' })
  const tools = await ow.packages.get('tools')
  assert.equal(tools.publish, true)
  assert.deepEqual(names(tools.actions), ['echo'])
  assert.deepEqual(names(await ow.packages.list()), ['bound', 'tools'])
  assert.deepEqual(await ow.packages.list({ count: true }), { packages: 2 })
  const result = await ow.actions.invoke({ name: 'bound/echo', blocking: true, result: true })
  assert.deepEqual(result, { from: 'package', bound: true })
  await refused(409, ow.packages.delete('tools'))
  await ow.actions.delete('tools/echo')
  await ow.packages.delete({ packageName: 'bound' })
  await ow.packages.delete('tools')
  await refused(404, ow.packages.get('tools'))
}

async function triggersAndRules () {
  await ow.triggers.create({ name: 'event', trigger: { parameters: [{ key: 'a', value: 1 }] } })
  await ow.triggers.update({ name: 'event', trigger: { annotations: [{ key: 'k', value: 'v' }] } })
  const rule = await ow.rules.create({ name: 'rule', trigger: 'event', action: 'echo' })
  assert.equal(rule.status, 'active')
  assert.deepEqual([rule.trigger.name, rule.action.name], ['event', 'echo'])
  assert.deepEqual(names(await ow.triggers.list()), ['event'])
  assert.deepEqual(names(await ow.rules.list({ limit: 5 })), ['rule'])
  assert.deepEqual(await ow.rules.list({ count: true }), { rules: 1 })

  const { activationId } = await ow.triggers.invoke({ name: 'event', params: { b: 2 } })
  const fired = await ow.activations.get(activationId)
  assert.equal(fired.response.result.b, 2)
  const [line] = fired.logs.map(JSON.parse)
  assert.equal(line.rule, 'guest/rule')
  const called = await eventually('what a rule called', () => ow.activations.get(line.activationId).catch(error => {
    assert.equal(error.statusCode, 404)
  }))
  assert.equal(called.response.result.a, 1)

  await ow.rules.disable({ name: 'rule' })
  assert.equal((await ow.rules.get('rule')).status, 'inactive')
  await ow.rules.enable({ name: 'rule' })
  assert.equal((await ow.rules.get({ ruleName: 'rule' })).status, 'active')
  await ow.rules.update({ name: 'rule', trigger: 'event', action: 'failing' })
  assert.equal((await ow.rules.get('rule')).action.name, 'failing')
  await refused(400, ow.rules.create({ name: 'other', trigger: 'event', action: 'missing' }))
  const trigger = await ow.triggers.get('event')
  assert.deepEqual(Object.keys(trigger.rules), ['guest/rule'])
  await ow.rules.delete('rule')
  await ow.triggers.delete({ triggerName: 'event' })
  await refused(404, ow.triggers.get('event'))
}

async function feeds () {
  await ow.actions.create({ name: 'feed', action: feed, kind: 'python:default', annotations: { feed: true } })
  await ow.triggers.create({ name: 'fed' })
  const told = { create: 'CREATE', get: 'READ', update: 'UPDATE', delete: 'DELETE' }
  for (const [method, event] of Object.entries(told)) {
    const { response } = await ow.feeds[method]({ name: 'feed', trigger: 'fed' })
    assert.deepEqual(response.result, { event, trigger: '/_/fed', key: process.env.__OW_API_KEY })
  }
  const alarm = { name: '/whisk.system/alarms/interval', trigger: 'fed' }
  await ow.feeds.create({ ...alarm, params: { minutes: 5 } })
  assert((await ow.feeds.get(alarm)).response.result)
  await ow.feeds.delete(alarm)
  await ow.triggers.delete('fed')
  await ow.actions.delete('feed')
}

async function routes () {
  await ow.actions.create({
    name: 'page', action: page, kind: 'python:default', annotations: { 'web-export': true, final: true }
  })
  const made = await ow.routes.create({ basepath: '/shop', relpath: '/page', operation: 'GET', action: 'page' })
  assert(made.gwApiUrl, JSON.stringify(made))
  // Results are JSON unless `responsetype` is set otherwise, which the package cannot do.
  const answer = await fetch(`${made.gwApiUrl}/page?name=Ada`)
  assert.deepEqual([answer.status, await answer.text()], [200, '{"body":"hello Ada"}'])
  const { apis } = await ow.routes.list()
  assert.equal(apis.length, 1)
  assert.equal(apis[0].value.apidoc.basePath, '/shop')
  const one = await ow.routes.get({ basepath: '/shop' })
  assert(one.apis[0].value.apidoc.paths['/page'].get)
  await ow.routes.delete({ basepath: '/shop' })
  assert.deepEqual((await ow.routes.list()).apis, [])
  await ow.actions.delete('page')
}

async function cleanUp () {
  const deleted = await ow.actions.delete(['echo', 'failing', { name: 'twice' }])
  assert.deepEqual(deleted.map(it => it.name), ['echo', 'failing', 'twice'])
  assert.deepEqual(await ow.actions.list({ count: true }), { actions: 0 })
}

const parts = { namespaces, actions, activations, packages, triggersAndRules, feeds, routes, cleanUp }
for (const [name, part] of Object.entries(parts)) {
  await part().catch(error => {
    console.error(`${name}: ${error.stack}`)
    process.exit(1)
  })
  console.log(`${name} ok`)
}
