package burst.invoker.driver
package sandbox

import burst.node.SetupException
import burst.protocol.FailureKind
import io.circe.Json
import io.circe.jawn.parse
import java.nio.file.{Files, Path}
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.concurrent.Future
import scala.jdk.CollectionConverters.*
import scala.util.Using

/** What the driver sends to its shim, and how it treats the answers; the shim is a script. */
class ShimSuite extends ShimFixtures:
  import ScriptedShim.Listens

  private def prewarmed(driver: Driver): Future[Container] =
    driver.prewarm(1, 16).map(_.fold(failure => fail(failure.message), identity))

  private def spec(line: String): Json = parse(line).fold(throw _, identity)

  private def inside(directory: Path): Vector[Path] =
    if Files.exists(directory) then Using.resource(Files.list(directory))(_.iterator.asScala.toVector)
    else Vector.empty

  private def messageOf(outcome: Either[burst.protocol.Failure, Container]): String =
    outcome.swap.toOption.fold(fail("the container started"))(_.message)

  test("a sandbox is requested with what its pack needs"):
    val shim = ScriptedShim(Silent)
    val mounts = Vector(Mount("/d", "/e", readOnly = true))
    val driver =
      shim.driver(
        users = Some(UserRange(70_000, 70_000)),
        settings = SandboxPrerequisites.settings.copy(mounts = mounts)
      )
    for
      _ <- started(driver, workers = 2)
      _ <- driver.close()
    yield
      val fields = spec(shim.specs.head).hcursor
      val cpus = math.min(2, Runtime.getRuntime.availableProcessors).toDouble
      val limits = Json.obj(
        "memoryMiB" -> Json.fromInt(2 * 32 + 64),
        "cpus" -> Json.fromDoubleOrNull(cpus),
        "processes" -> Json.fromInt(256 + 2 * 64),
        "files" -> Json.fromInt(4096)
      )
      assertEquals(fields.get[Json]("limits"), Right(limits))
      assertEquals(fields.get[String]("package"), Right(packageDir.toString))
      assertEquals(fields.get[Long]("user"), Right(70_000L))
      assertEquals(fields.get[Option[String]]("root"), Right(None))
      val mount = Json.obj(
        "source" -> Json.fromString("/d"),
        "target" -> Json.fromString("/e"),
        "readOnly" -> Json.True
      )
      assertEquals(fields.get[Vector[Json]]("mounts"), Right(Vector(mount)))
      assertEquals((fields.get[Int]("tmpMiB"), fields.get[Int]("shmMiB")), (Right(16), Right(16)))
      assertEquals(fields.get[Long]("graceMs"), Right(250L))
      assert(fields.get[String]("group").exists(_.matches("burst-me-[0-9a-f]{16}")), shim.specs.toString)

  test("interpreters are visible to functions that need them, and in pre-warmed sandboxes"):
    val shim = ScriptedShim(Silent)
    val driver = shim.driver()
    for
      _ <- driver.start(resources(1))
      _ <- driver.start(resources(1).copy(base = ContainerBase.Interpreters))
      _ <- driver.prewarm(1, 16)
      _ <- driver.close()
    yield
      val shown = shim.specs.map(spec(_).hcursor.get[Boolean]("interpreters"))
      assertEquals(shown, Vector(Right(false), Right(true), Right(true)))

  test("users' own images are refused with a hint to the driver that runs them"):
    val driver = ScriptedShim(Silent).driver()
    driver.start(resources(1).copy(base = ContainerBase.Image("a/b:1"))).map: refused =>
      assertEquals(refused.left.toOption.map(_.kind), Some(FailureKind.InvalidInput))
      assert(messageOf(refused).contains("--driver docker"), refused)

  test("without control groups none is named, and the program itself is limited in memory"):
    val shim = ScriptedShim(Silent)
    val driver = shim.driver(limitedBy = "resource limits")
    assertEquals(driver.programMemory(2, 100), Some(2 * 116L + 64))
    assert(driver.limits.contains("resource limits"), driver.limits)
    for
      _ <- started(driver)
      removed <- driver.removeOrphans()
      _ <- driver.close()
    yield
      val fields = spec(shim.specs.head).hcursor
      assertEquals(fields.get[Option[String]]("group"), Right(None))
      // The limit on processes then holds for life: that of a pack with all eight slots.
      assertEquals(fields.downField("limits").get[Int]("processes"), Right(256 + 8 * 64))
      assertEquals((removed, shim.removed), (0, Vector.empty))

  test("control groups limit the memory of everything in a pack"):
    assertEquals(ScriptedShim(Silent).driver().programMemory(2, 100), None)

  test("a shim's refusal is reported in its words, and its user and directory are freed"):
    val shim = ScriptedShim("echo burst-runtime: no such root; exit 1")
    val driver = shim.driver(users = Some(UserRange(70_000, 70_000)))
    for
      first <- driver.start(resources(1))
      second <- driver.prewarm(1, 16)
    yield
      for outcome <- Vector(first, second) do
        assert(messageOf(outcome).endsWith("it ended with code 1; burst-runtime: no such root"), outcome)
      assertEquals(inside(shim.directory.resolve("sandbox/prewarmed")), Vector.empty)
      // Whatever failed: no control group is left.
      assertEquals(shim.removed.size, 2)

  test("a shim that reads nothing and ends is a failure with its words"):
    val driver = ScriptedShim("exec 0<&-; echo cannot; exit 2").driver()
    driver.start(resources(1)).map(outcome => assert(messageOf(outcome).contains("cannot"), outcome))

  test("a shim that never listens is given up, and its control group removed"):
    def givenUp(within: FiniteDuration): Future[Unit] =
      val shim = ScriptedShim("exec sleep 600")
      val driver = shim.driver(settings = SandboxPrerequisites.settings.copy(startTimeout = within))
      driver.start(resources(1)).flatMap: outcome =>
        assert(messageOf(outcome).contains("did not listen"), outcome)
        // On a busy machine the script may not have read its specification yet.
        if shim.specs.isEmpty && within < 20.seconds then givenUp(within * 5)
        else
          val group = spec(shim.specs.head).hcursor.get[String]("group").toOption.get
          Future(assertEquals(shim.removed, Vector(group)))
    givenUp(200.millis)

  test("running out of users is reported, and each is free again when its sandbox has ended"):
    val shim = ScriptedShim(Silent)
    val driver = shim.driver(users = Some(UserRange(70_000, 70_001)))
    for
      one <- started(driver)
      _ <- started(driver)
      none <- driver.start(resources(1))
      _ = assert(messageOf(none).contains("burst.invoker.sandbox.users"), none)
      _ <- Future.sequence(Vector.fill(3)(driver.stop(one)))
      _ <- started(driver)
      none <- driver.start(resources(1))
      _ = assert(none.isLeft, "a user is freed once, however often its sandbox is stopped")
      _ <- driver.close()
    yield
      val users = shim.specs.map(spec(_).hcursor.get[Long]("user").toOption.get)
      assertEquals(users.toSet, Set(70_000L, 70_001L))

  private val Answers = s"$Listens; while read -r line; do echo $$line >&2; echo"

  test("new limits are sent, and count once the shim confirms them"):
    val driver = ScriptedShim(s"$Answers limits made; done").driver()
    for
      container <- started(driver)
      resized <- driver.resize(container, resources(3))
      _ = assert(resized)
      throttled <- driver.throttle(container, 1)
      _ = assert(throttled)
      _ <- driver.stop(container)
      late <- driver.resize(container, resources(1))
      _ = assert(!late, "an ended sandbox has no limits")
      _ <- driver.close()
    yield ()

  test("limits that are refused, failed or unanswered do not count"):
    val settings = SandboxPrerequisites.settings.copy(answerTimeout = 200.millis)
    // All scripts are written before one is started: a process started in between would keep the other files
    // open.
    val shims =
      for script <-
          Vector(s"$Answers limits refused: in use; done", s"$Answers limits failed: none; done", Silent)
      yield script -> ScriptedShim(script)
    Future.traverse(shims): (script, shim) =>
      val driver = shim.driver(settings = settings)
      for
        container <- started(driver)
        resized <- driver.resize(container, resources(3))
        _ = assert(!resized, script)
        _ <- driver.close()
      yield ()

  test("a pre-warmed sandbox gets its package's files where it expects them, and leaves nothing"):
    val shim = ScriptedShim(s"$Answers limits made; done")
    val driver = shim.driver()
    val _ = Files.writeString(packageDir.resolve("exec"), "program")
    for
      blank <- prewarmed(driver)
      seen = Path.of(spec(shim.specs.head).hcursor.get[String]("package").toOption.get)
      _ = assertEquals(inside(seen), Vector.empty)
      adopted <- driver.adopt(blank, resources(2)).map(_.getOrElse(fail("not adopted")))
      _ = assertEquals(adopted.source, PackageSource.Mounted("/package"))
      _ = assert(Files.isSameFile(seen.resolve("exec"), packageDir.resolve("exec")))
      _ <- driver.stop(adopted)
      _ = assert(!Files.exists(seen), "its directory was removed with it")
      _ <- driver.close()
    yield ()

  test("a kill by the kernel is recognized by the shim's last words"):
    val shim = ScriptedShim(s"$Listens; echo out of memory; exit 137")
    val driver = shim.driver()
    for
      container <- started(driver)
      exit <- container.exit
      _ <- driver.stop(container)
    yield
      assertEquals(exit, ContainerExit(Some(137), oomKilled = true))
      // The shim may have been killed before it removed its group.
      assertEquals(shim.removed.size, 1)

  test("a shim that ended by itself has removed its control group"):
    val shim = ScriptedShim(Silent)
    val driver = shim.driver()
    for
      container <- started(driver)
      _ <- driver.stop(container)
    yield assertEquals(shim.removed, Vector.empty)

  test("a control group in use is removed once it is empty, and then all that its pack had"):
    val shim = ScriptedShim(s"$Listens; exit 137")
    val driver = shim.driver(users = Some(UserRange(70_000, 70_000)))
    shim.occupy(true)
    for
      container <- started(driver)
      _ <- container.exit
      stopped <- driver.stop(container)
      removed = stopped match
        case StopOutcome.NotStopped(reason, removed) =>
          assert(reason.contains("control group"), reason)
          removed
        case StopOutcome.Stopped => fail("its control group still exists")
      refused <- driver.start(resources(1))
      _ = assert(messageOf(refused).contains("no user is free"), refused)
      _ = shim.occupy(false)
      _ <- removed
      again <- started(driver)
      stopped <- driver.stop(again)
    yield assertEquals(stopped, StopOutcome.Stopped)

  test("remains of an earlier run are found by the owner's id"):
    val shim = ScriptedShim(Silent)
    shim.driver().removeOrphans().map: removed =>
      assertEquals((removed, shim.removed), (1, Vector("burst-me-")))
      assert(!Files.exists(shim.directory.resolve("sandbox")))

  test("a directory that cannot be created is a set-up problem"):
    val shim = ScriptedShim(Silent)
    val _ = Files.createFile(shim.directory.resolve("sandbox"))
    val problem = intercept[SetupException](shim.driver())
    assert(problem.getMessage.contains("sandbox cannot be made ready"), problem.getMessage)

  test("nobody may list the directory of the packs' sockets"):
    val shim = ScriptedShim(Silent)
    val driver = shim.driver()
    val sockets = shim.directory.resolve("sandbox/sockets")
    assertEquals(
      java.nio.file.attribute.PosixFilePermissions.toString(Files.getPosixFilePermissions(sockets)),
      "-wx--x--x"
    )
    driver.close().map(_ => assert(!Files.exists(sockets)))
