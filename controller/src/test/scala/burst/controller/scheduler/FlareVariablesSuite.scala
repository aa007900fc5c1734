package burst.controller.scheduler

import burst.controller.definition.{SealedEnvironment, SealedSecret}
import burst.controller.flare.{ActivationFields, FlareRequest}
import burst.controller.secrets.{DefinitionName, Secrets, SecretsKey}
import burst.protocol.{Environment, FlareId, Timestamp}
import scala.concurrent.duration.DurationInt

/** Environment variables of a flare's programs: secrets are opened when the packs are requested. */
class FlareVariablesSuite extends SchedulerFixture:
  private val key = SecretsKey.random()

  private def having(secret: SealedSecret): FlareRequest =
    Samples.request(2, granularity = Some(1)).copy(
      environment = SealedEnvironment(Map("A" -> "1"), Vector(secret))
    )

  private def activation(path: String, key: Option[String] = None): ActivationFields =
    ActivationFields(path, "1.0.2", "t", 10, 1, None, component = false, None, burst = false, key)

  test("each pack receives the variables and the opened secrets"):
    val world = World(secrets = Secrets(Some(key)))
    val invoker = world.invoker("a", 1)
    val other = world.invoker("b", 1)
    world.submit(having(key.seal(DefinitionName("guest", "hello"), "TOKEN", "hunter2")))
    for one <- Seq(invoker, other) do
      assertEquals(
        one.prepared().assignment.environment,
        Environment(Map("A" -> "1", "TOKEN" -> "hunter2"))
      )

  test("a flare whose secret cannot be opened fails with an explanation, and requests no pack"):
    val world = World(secrets = Secrets(None))
    world.invoker("a", 2)
    val flare = world.submit(having(key.seal(DefinitionName("guest", "hello"), "TOKEN", "hunter2")))
    // It may already have ended.
    val error = world.await(flare.id).receiveMessage() match
      case GangScheduler.Awaited.Ended(ended, _) => ended.error
      case GangScheduler.Awaited.NotActive => world.store.find(flare.id).flatMap(_.error)
    val message = error.fold(fail("the flare has not failed"))(_.message)
    assert(message.contains("the secret TOKEN cannot be opened"), message)
    assert(!message.contains("hunter2"))
    world.eventuallyFree("a" -> 2)

  test(
    "an invocation's program has its own key, which opens the caller's namespace until the deadline"
  ):
    val secrets = Secrets(Some(key))
    val uuid = "0f8fad5b-d9cb-469f-a165-70867728950e"
    def told(wanted: Option[String], secrets: Secrets) =
      val world = World(secrets = secrets)
      val invoker = world.invoker("a", 1)
      world.submit(Samples.request(1).copy(activation = Some(activation("guest/hello", wanted))))
      invoker.prepared().assignment.invocation.variables
    val variables = told(Some(uuid), secrets)
    val shown = variables("api_key")
    assert(shown.startsWith(s"$uuid:"), shown)
    assertEquals(variables.get("api_host"), Some(Samples.apiHost))
    val deadline = Timestamp.ofMillis(variables("deadline").toLong)
    assert(secrets.activationKeys.opens(uuid, shown.drop(uuid.length + 1), deadline - 1.milli))
    assert(!secrets.activationKeys.opens(uuid, shown.drop(uuid.length + 1), deadline))
    assertEquals(told(None, secrets).get("api_key"), None)
    assertEquals(told(Some(uuid), Secrets(None)).get("api_key"), None, "the platform has no key")

  test("an invocation's program receives all of OpenWhisk's variables"):
    val world = World()
    val invoker = world.invoker("a", 1)
    val begun = Timestamp.ofMicros(world.clock.get)
    // It runs another namespace's action, from a package: the variable names the caller's namespace.
    val flare = world.submit(Samples.request(1).copy(activation = Some(activation("other/tools/hello"))))
    assertEquals(
      invoker.prepared().assignment.invocation.variables,
      Map(
        "api_host" -> Samples.apiHost,
        "namespace" -> "guest",
        "action_name" -> "/other/tools/hello",
        "action_version" -> "1.0.2",
        "activation_id" -> flare.id.value,
        "transaction_id" -> "t",
        "deadline" -> (begun + flare.request.timeout).millis.toString
      )
    )

  test("a flare's function receives the same variables, and a program with the SDK none"):
    val environment = InvocationEnvironment(Secrets(None).activationKeys, Samples.apiHost)
    val id = FlareId.random()
    val own = Samples.request(1)
    assertEquals(environment.of(id, own, Timestamp.ofMicros(7_000_999)), Environment.Empty)
    val python = own.copy(definition = own.definition.copy(kind = "python:3.10"))
    assertEquals(
      environment.of(id, python, Timestamp.ofMicros(7_000_999)).variables,
      Map(
        "api_host" -> Samples.apiHost,
        "namespace" -> "guest",
        "action_name" -> "/guest/hello",
        "action_version" -> "0.0.1",
        "activation_id" -> id.value,
        "transaction_id" -> id.value,
        "deadline" -> "7000",
        "flare_id" -> id.value
      )
    )
