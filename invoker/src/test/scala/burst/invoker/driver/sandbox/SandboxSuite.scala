package burst.invoker.driver
package sandbox

import burst.node.{RuntimeBinary, Sandboxing}
import java.nio.file.{Files, Path}
import java.util.concurrent.TimeUnit
import scala.concurrent.{Await, Future}
import scala.concurrent.duration.DurationInt
import scala.jdk.CollectionConverters.*
import scala.util.{Random, Try, Using}

/** The sandbox driver as root, or as the user who runs the tests. */
class SandboxDriverSuite extends SandboxSuite:
  protected lazy val binary: Path = Prerequisites.runtimeBinary
  protected def users: Option[UserRange] =
    Option.when(SandboxPrerequisites.isRoot)(SandboxPrerequisites.settings.users)
  protected def chown(directory: Path): Unit = ()

/** The same as a user without any rights. */
class OrdinaryUserSandboxSuite extends SandboxSuite:
  /** The tests' own directory may be inaccessible to others. */
  override protected def parent: Path = Path.of("/tmp")
  protected lazy val binary: Path = SandboxPrerequisites.ofOrdinaryUser(directory)
  protected def users: Option[UserRange] = None
  protected def chown(directory: Path): Unit =
    if SandboxPrerequisites.isRoot then
      val names = directory.getFileSystem.getUserPrincipalLookupService
      val _ = Files.setOwner(directory, names.lookupPrincipalByName(SandboxPrerequisites.Ordinary))

abstract class SandboxSuite extends DriverContractSuite:
  /** The runtime, as started by the user in question. */
  protected def binary: Path
  protected def users: Option[UserRange]

  /** Gives a directory to that user. */
  protected def chown(directory: Path): Unit

  private val settings = SandboxPrerequisites.settings

  private lazy val limitedBy = RuntimeBinary(binary).sandboxing() match
    case Sandboxing.Possible(limits) => limits
    case Sandboxing.Impossible(reason) => fail(s"no sandboxes can be made here: $reason")

  override def beforeAll(): Unit =
    Files.setPosixFilePermissions(directory, PackageFiles.Readable)
    val _ = Files.setPosixFilePermissions(packageDir, PackageFiles.Readable)

  protected def newDriver(): SandboxDriver = opened(newOwner())
  protected def brokenDriver(): Driver =
    val driver = driverOf(newOwner(), settings.copy(root = Some("/proc/none")))
    driver.open()
    driver

  private def opened(owner: String): SandboxDriver =
    val driver = driverOf(owner, settings)
    driver.open()
    chown(homeOf(owner).resolve("sockets"))
    driver

  private def driverOf(owner: String, settings: SandboxSettings): SandboxDriver =
    SandboxDriver(
      settings,
      binary,
      owner,
      homeOf(owner),
      limitedBy,
      slots = 8,
      users,
      host = "127.0.0.1",
      backends,
      blocking
    )

  private val backends = BackendServers(RuntimeBinary(Prerequisites.runtimeBinary).servers)

  private def homeOf(owner: String): Path = directory.resolve(owner)

  private def own(container: Container): SandboxContainer = container match
    case own: SandboxContainer => own
    case _ => fail("a container of another driver")

  /** Kills the sandbox's first process, which has no children while no program runs. */
  protected def kill(container: Container): Unit =
    val first = own(container).below.filter(handle => handle.isAlive && handle.children().count() == 0)
    first.foreach(_.destroyForcibly())

  private def killShim(container: Container): Unit =
    ProcessHandle.of(container.id.toLong).ifPresent { handle =>
      val _ = handle.destroyForcibly()
    }

  protected def runs(container: Container): Boolean =
    own(container).process.isAlive || own(container).below.exists(isRunning)

  /** A process whose parent was killed may have ended without being reaped yet. */
  private def isRunning(handle: ProcessHandle): Boolean =
    def zombie =
      Try(Files.readString(Path.of(s"/proc/${handle.pid}/stat"))).toOption.forall(stat =>
        stat.contains(") Z ") || stat.contains(") X ")
      )
    handle.isAlive && !zombie

  protected def exists(container: Container): Boolean =
    val owned = own(container).resources
    runs(container) || owned.group.exists(groups(_).nonEmpty) || owned.blank.exists(Files.exists(_))

  /** Control groups on this machine whose names begin with the prefix, of either version. */
  private def groups(prefix: String): Vector[Path] =
    def below(directory: Path, depth: Int): Vector[Path] =
      val inside =
        Try(Using.resource(Files.newDirectoryStream(directory, Files.isDirectory(_)))(_.asScala.toVector))
      inside.getOrElse(Vector.empty).flatMap: found =>
        Option.when(found.getFileName.toString.startsWith(prefix))(found).toVector ++
          (if depth > 0 then below(found, depth - 1) else Vector.empty)
    below(Path.of("/sys/fs/cgroup"), depth = 5)

  private def inside(directory: Path): Vector[Path] =
    Using.resource(Files.list(directory))(_.iterator.asScala.toVector)

  private def eventually(done: => Boolean, clue: => Any): Unit =
    val deadline = 30.seconds.fromNow
    while !done && deadline.hasTimeLeft() do TimeUnit.MILLISECONDS.sleep(5)
    assert(done, clue)

  test("a sandbox has its pack's limits, and its program gets a limit where there are no control groups"):
    val driver = newDriver()
    for
      container <- started(driver, workers = 2)
      group = own(container).resources.group
      _ = assertEquals(group.isEmpty, driver.programMemory(1, 1).nonEmpty)
      // Version 1 has a separate tree for each kind of limit.
      _ = group.foreach(name => assert(groups(name).nonEmpty, name))
      _ <- driver.close()
    yield ()

  test("when its shim is killed a sandbox ends immediately, and stopping it leaves nothing"):
    val driver = newDriver()
    for
      container <- started(driver)
      _ = killShim(container)
      exit <- container.exit
      _ = assertEquals(exit.code, Some(137))
      _ = eventually(!runs(container), own(container).below.filter(isRunning).map(_.info))
      _ <- stopCompletely(driver, container)
      _ = assert(!exists(container))
      _ <- driver.close()
    yield ()

  test("an invoker removes what its previous run left behind, and nothing of other invokers"):
    val owner = newOwner()
    val (before, after, other) = (opened(owner), driverOf(owner, settings), newDriver())
    for
      orphan <- started(before)
      foreign <- started(other)
      _ = killShim(orphan)
      _ = eventually(!runs(orphan), orphan.id)
      _ <- after.removeOrphans()
      _ = assertEquals((exists(orphan), exists(foreign)), (false, true))
      again <- after.removeOrphans()
      _ = assertEquals(again, 0)
      _ <- other.close()
      _ <- before.close()
    yield ()

  private def withMounts(mounts: Mount*): SandboxDriver =
    val owner = newOwner()
    val driver = driverOf(owner, settings.copy(mounts = mounts.toVector))
    driver.open()
    chown(homeOf(owner).resolve("sockets"))
    driver

  test("an operator's directories are mounted where configured, writable or not"):
    val shared = Files.createDirectories(directory.resolve("shared"))
    val source = shared.toRealPath().toString
    val driver = withMounts(Mount(source, "/data", readOnly = true), Mount(source, "/out", readOnly = false))
    for
      container <- started(driver)
      // Processes that helped with the start have ended, or do not have this mount.
      mountInfos = own(container).below.flatMap(it =>
        Try(Files.readString(Path.of(s"/proc/${it.pid}/mountinfo"))).toOption
      )
      seen = mountInfos.filter(_.contains(" /data ")).map(_.linesIterator.map(_.split(' ').slice(4, 6)))
      flags = seen.flatten.map(line => line(0) -> line(1).split(',').toSet).toMap
      _ = assert(Set("ro", "nosuid", "nodev").subsetOf(flags("/data")), flags)
      _ = assert(Set("rw", "nosuid", "nodev", "noexec").subsetOf(flags("/out")), flags)
      _ <- driver.close()
    yield ()

  test("a missing directory is reported, and so is one that would hide the sandbox's own"):
    val missing = directory.resolve("gone").toString
    for (mount, expected) <- Vector(
        Mount(missing, "/data", readOnly = true) -> s"$missing:/data cannot be mounted",
        Mount(directory.toRealPath().toString, "/proc/x", readOnly = true) -> "the sandbox has /proc already"
      )
    do
      val outcome = Await.result(withMounts(mount).start(resources(1)), 30.seconds)
      val message = outcome.swap.toOption.fold(fail("the container started"))(_.message)
      assert(message.contains(expected), message)

  test("a missing root is reported"):
    brokenDriver().start(resources(1)).map: outcome =>
      val message = outcome.swap.toOption.fold(fail("the container started"))(_.message)
      assert(message.contains("/proc/none"), message)

  /** How many sandboxes to start, ten at a time. */
  private lazy val many = sys.env.get("BURST_TEST_SANDBOXES").fold(500)(_.toInt)
  override def munitTimeout = super.munitTimeout * (many / 500.0).max(1)

  test(s"$many sandboxes that are started, killed and stopped at any moment leave nothing behind"):
    val owner = newOwner()
    val driver = opened(owner)
    val random = Random(7)

    def ended(container: Container, how: Int, after: Int): Future[Container] =
      for
        _ <- Future(TimeUnit.MILLISECONDS.sleep(after))
        _ = how match
          case 0 => killShim(container)
          case 1 => kill(container)
          case _ => ()
        _ <- Future.sequence(Vector.fill(1 + how % 2)(stopCompletely(driver, container)))
      yield
        assert(!exists(container), s"ended by $how after $after ms: ${own(container).resources}")
        container

    def one(): Future[Container] =
      val (how, after) = (random.nextInt(4), random.nextInt(15))
      val blank = random.nextInt(4) == 0
      for
        made <- if blank then driver.prewarm(1, 16) else driver.start(resources(1))
        container = made.fold(failure => fail(failure.message), identity)
        stopped <- ended(container, how, after)
      yield stopped

    // As many at a time as an invoker with two processors would have.
    def rounds(remaining: Int): Future[Int] =
      if remaining == 0 then Future.successful(0)
      else Future.sequence(Vector.fill(10)(one())).flatMap(done => rounds(remaining - 1).map(_ + done.size))

    for
      count <- rounds(many / 10)
      _ = assertEquals(count, many)
      _ = assertEquals(groups(s"burst-$owner"), Vector.empty)
      _ = assertEquals(inside(homeOf(owner).resolve("prewarmed")), Vector.empty)
      _ <- driver.close()
    yield assert(!Files.exists(homeOf(owner)))
