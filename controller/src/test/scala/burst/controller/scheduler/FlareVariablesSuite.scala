package burst.controller.scheduler

import burst.controller.definition.{SealedEnvironment, SealedSecret}
import burst.controller.flare.{ActivationFields, FlareRequest}
import burst.controller.secrets.{DefinitionName, Secrets, SecretsKey}
import burst.protocol.Environment

/** Environment variables of a flare's programs: secrets are opened when the packs are asked for. */
class FlareVariablesSuite extends SchedulerFixture:
  private val key = SecretsKey.random()

  private def having(secret: SealedSecret): FlareRequest =
    Samples.request(2, granularity = Some(1)).copy(
      environment = SealedEnvironment(Map("A" -> "1"), Vector(secret))
    )

  test("each pack is told the variables and the opened secrets"):
    val world = World(secrets = Secrets(Some(key)))
    val invoker = world.invoker("a", 1)
    val other = world.invoker("b", 1)
    world.submit(having(key.seal(DefinitionName("guest", "hello"), "TOKEN", "hunter2")))
    for one <- Seq(invoker, other) do
      assertEquals(
        one.prepared().assignment.environment,
        Environment(Map("A" -> "1", "TOKEN" -> "hunter2"))
      )

  test("a flare whose secret cannot be opened fails with a sentence, and asks for no pack"):
    val world = World(secrets = Secrets(None))
    world.invoker("a", 2)
    val flare = world.submit(having(key.seal(DefinitionName("guest", "hello"), "TOKEN", "hunter2")))
    // It may have ended before anybody asks.
    val error = world.await(flare.id).receiveMessage() match
      case GangScheduler.Awaited.Ended(ended, _) => ended.error
      case GangScheduler.Awaited.NotActive => world.store.find(flare.id).flatMap(_.error)
    val message = error.fold(fail("it has not failed"))(_.message)
    assert(message.contains("the secret TOKEN cannot be opened"), message)
    assert(!message.contains("hunter2"))
    world.eventuallyFree("a" -> 2)

  test(
    "the program of an invocation has a key of its own, which opens its caller's namespace until its deadline"
  ):
    val secrets = Secrets(Some(key))
    val uuid = "0f8fad5b-d9cb-469f-a165-70867728950e"
    def told(wanted: Option[String], secrets: Secrets) =
      val world = World(secrets = secrets)
      val invoker = world.invoker("a", 1)
      val fields =
        ActivationFields(
          "guest/hello",
          "0.0.1",
          "t",
          10,
          1,
          None,
          component = false,
          None,
          burst = false,
          wanted
        )
      world.submit(Samples.request(1).copy(activation = Some(fields)))
      invoker.prepared().assignment.invocation.variables
    val variables = told(Some(uuid), secrets)
    val shown = variables("api_key")
    assert(shown.startsWith(s"$uuid:"), shown)
    assertEquals(variables.get("api_host"), Some(Samples.apiHost))
    val deadline = variables("deadline").toLong
    assert(secrets.activationKeys.opens(uuid, shown.drop(uuid.length + 1), deadline - 1))
    assert(!secrets.activationKeys.opens(uuid, shown.drop(uuid.length + 1), deadline))
    assertEquals(told(None, secrets).get("api_key"), None)
    assertEquals(told(Some(uuid), Secrets(None)).get("api_key"), None, "without a key of the platform's")
