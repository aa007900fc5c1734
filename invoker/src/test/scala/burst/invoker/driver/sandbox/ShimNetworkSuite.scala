package burst.invoker.driver
package sandbox

import burst.node.ServerAddress
import burst.protocol.{BackendConfig, Failure, FailureKind, FlareId}
import java.io.IOException
import scala.concurrent.duration.DurationInt
import scala.concurrent.Future

/** What packs are given access to, as seen in the driver's orders to its shim. */
class ShimNetworkSuite extends ShimFixtures:
  import ScriptedShim.{answering, Late, Listens}

  private def access(uri: Option[String], egress: Boolean = false) =
    NetworkAccess(FlareId.random(), 2, BackendConfig("some", uri, None), egress)

  private val Server = Some("some://server")
  private val Servers = Vector(ServerAddress("server.example", 6379), ServerAddress("fd00::1", 443))

  private def refusal(outcome: Either[Failure, Unit]): Failure =
    outcome.swap.toOption.getOrElse(fail("the pack was connected"))

  test("a pack is let through to its backend's servers, if it has any, and to none when idle"):
    val shim = ScriptedShim(answering("open" -> "opened", "close" -> "closed"))
    var lookups = 0
    val driver = shim.driver(servers = backend =>
      lookups += 1
      if backend.kind == "some" then Servers else Vector.empty)
    for
      container <- started(driver)
      alone <- driver.connect(container, access(None))
      _ = driver.disconnect(container)
      _ = assertEquals((alone, shim.orders, lookups), (Right(()), Vector.empty, 0))
      first <- driver.connect(container, access(Server))
      _ = driver.disconnect(container)
      second <- driver.connect(container, access(Server))
      _ = driver.disconnect(container)
      _ = driver.disconnect(container)
      _ <- driver.close()
    yield
      val opened = """{"open":["server.example:6379","fd00::1:443"]}"""
      val closed = """{"close":true}"""
      assertEquals((first, second, lookups), (Right(()), Right(()), 1))
      assertEquals(shim.orders, Vector(opened, closed, opened, closed))

  test("a server that cannot be reached is reported in the shim's words"):
    val shim = ScriptedShim(answering("open" -> "open failed: 'server.example' is not found"))
    val driver = shim.driver(servers = _ => Servers)
    for
      container <- started(driver)
      outcome <- driver.connect(container, access(Server))
      _ <- driver.close()
    yield
      val failure = refusal(outcome)
      assertEquals(failure.kind, FailureKind.StartFailed)
      assertEquals(
        failure.message,
        "its backend 'some' cannot be reached: 'server.example' is not found"
      )

  test("an unknown backend, a silent shim and a dead one fail the connection"):
    val settings = SandboxPrerequisites.settings.copy(connectTimeout = 200.millis)
    val unknown = ScriptedShim(Silent).driver(servers = _ => throw IOException("no such command"))
    val silent = ScriptedShim(Silent).driver(settings = settings, servers = _ => Servers)
    val dead = ScriptedShim(Listens).driver(servers = _ => Servers)
    for
      messages <- Future.traverse(Vector(unknown, silent, dead)): driver =>
        for
          container <- started(driver)
          outcome <- driver.connect(container, access(Server))
          _ <- driver.close()
        yield refusal(outcome).message
    yield
      val reasons = Vector(
        "no such command",
        "its shim has not answered within 200 milliseconds",
        "its shim does not answer: "
      )
      for (message, reason) <- messages.zip(reasons) do
        assert(message.startsWith(s"its backend 'some' cannot be reached: $reason"), message)

  test("a pack whose connections may not have been closed is ended"):
    val shim =
      ScriptedShim(answering("open" -> "opened", "close" -> "close failed: the kernel is stubborn"))
    val driver = shim.driver(servers = _ => Servers)
    for
      container <- started(driver)
      opened <- driver.connect(container, access(Server))
      _ = driver.disconnect(container)
      _ <- container.exit
      _ <- driver.close()
    yield assertEquals(opened, Right(()))

  /** A flare without network access and one with it, each with its shim: both scripts are written before one
    * is started, as a process started in between would keep the other file open.
    */
  private def nextAccesses(script: String): Vector[(NetworkAccess, ScriptedShim)] =
    Vector(access(None), access(Server)).map(_ -> ScriptedShim(script))

  test("the next flare on a pack waits until the previous one's connections are closed"):
    Future.traverse(nextAccesses(answering("open" -> "opened", "close" -> Late))): (next, shim) =>
      val driver = shim.driver(servers = backend => if backend.uri.isEmpty then Vector.empty else Servers)
      for
        container <- started(driver)
        _ <- driver.connect(container, access(Server))
        _ = driver.disconnect(container)
        connected = driver.connect(container, next)
        _ = assert(!connected.isCompleted)
        _ = shim.answer("closed")
        connected <- connected
        _ = assertEquals(connected, Right(()))
        again <- driver.connect(container, access(None))
        _ = assertEquals(again, Right(()), "connections are closed only once")
        _ <- driver.close()
      yield ()

  test("a pack whose closing is not confirmed runs no other flare, and is ended"):
    Future.traverse(nextAccesses(answering("open" -> "opened"))): (next, shim) =>
      val settings = SandboxPrerequisites.settings.copy(answerTimeout = 200.millis)
      val driver = shim.driver(settings = settings, servers = _ => Servers)
      for
        container <- started(driver)
        _ <- driver.connect(container, access(Server))
        _ = driver.disconnect(container)
        connected <- driver.connect(container, next)
        failure = refusal(connected)
        _ = assert(failure.message.contains("has not answered within 200 milliseconds"), failure.message)
        _ <- container.exit
        _ <- driver.close()
      yield assertEquals(failure.kind, FailureKind.StartFailed)

  private val Internet = """{"internet":{"closed":["10.0.0.0/8","::/3"]}}"""

  test("a pack is let through to the internet if its namespace may, after its backend's servers"):
    val shim =
      ScriptedShim(answering("open" -> "opened", "internet" -> "opened", "close" -> "closed"))
    val driver = shim.driver(servers = _ => Servers)
    for
      container <- started(driver)
      alone <- driver.connect(container, access(None, egress = true))
      _ = driver.disconnect(container)
      both <- driver.connect(container, access(Server, egress = true))
      _ = driver.disconnect(container)
      _ <- driver.close()
    yield
      val opened = """{"open":["server.example:6379","fd00::1:443"]}"""
      val closed = """{"close":true}"""
      assertEquals((alone, both), (Right(()), Right(())))
      assertEquals(shim.orders, Vector(Internet, closed, opened, Internet, closed))

  test("a machine that cannot open the internet reports why, as a failure to connect"):
    val reason = "the pack cannot be let out: the kernel refuses to divert packets"
    val driver = ScriptedShim(answering("internet" -> s"open failed: $reason")).driver()
    for
      container <- started(driver)
      internet <- driver.connect(container, access(None, egress = true))
      _ <- driver.close()
    yield
      val failure = refusal(internet)
      assertEquals((failure.kind, failure.operation), (FailureKind.StartFailed, Some("connect")))
      assert(failure.message.contains("egress") && failure.message.endsWith(reason), failure.message)
