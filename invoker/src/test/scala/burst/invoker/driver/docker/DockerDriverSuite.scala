package burst.invoker.driver
package docker

import burst.node.SetupException
import burst.protocol.{BackendConfig, FlareId}
import com.github.dockerjava.api.exception.NotFoundException
import com.github.dockerjava.api.model.{HostConfig, Ulimit}
import java.nio.file.{Files, Path}
import scala.concurrent.{Await, Future}
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.jdk.CollectionConverters.*
import scala.util.Try

class DockerDriverSuite extends DriverContractSuite:
  private val settings = DockerPrerequisites.settings

  private lazy val observer = DockerPrerequisites.daemon(settings).calls
  private var made = Vector.empty[Driver]

  /** Closes the drivers of failed tests, as their rules would apply to the next network's packets. */
  override protected def release(): Unit =
    made.foreach(driver => Try(Await.ready(driver.close(), 60.seconds)))
    observer.close()

  protected def newDriver(): Driver = opened(driverOf(settings, newOwner()))

  private def opened(driver: Driver): Driver =
    driver.open()
    driver
  protected def brokenDriver(): Driver =
    driverOf(
      settings.copy(mounts = Vector(Mount("/proc/none", "/x", readOnly = true))),
      newOwner()
    )

  /** A firewall is slow to start on a busy machine. */
  private def driverOf(
      settings: DockerSettings,
      owner: String,
      closeTimeout: FiniteDuration = 60.seconds
  ): Driver =
    val driver = DockerDriver(
      settings,
      owner,
      DockerPrerequisites.daemon(settings),
      DockerPrerequisites.files(directory),
      directoryOf(owner),
      directoryOf(owner).resolve("pulled-images.json"),
      8,
      BackendServers(_ => Vector.empty),
      blocking,
      closeTimeout
    )
    made :+= driver
    driver

  private def directoryOf(owner: String): Path = directory.resolve(owner)

  protected def kill(container: Container): Unit = observer.killContainerCmd(container.id).exec()

  protected def runs(container: Container): Boolean =
    Try(observer.inspectContainerCmd(container.id).exec().getState.getRunning.booleanValue).getOrElse(false)

  protected def exists(container: Container): Boolean =
    Try(observer.inspectContainerCmd(container.id).exec()) match
      case scala.util.Failure(_: NotFoundException) => false
      case other => other.isSuccess

  test("a container has its pack's limits and no privileges"):
    val driver = newDriver()
    for
      container <- started(driver, workers = 2)
      shown = observer.inspectContainerCmd(container.id).exec()
      _ <- driver.close()
    yield
      val host = shown.getHostConfig
      assertEquals(host.getMemory.longValue, (2 * 32L + 64) << 20)
      assertEquals(host.getMemorySwap, host.getMemory)
      assertEquals(host.getPidsLimit.longValue, 256L + 2 * 64)
      assert(host.getNanoCPUs > 0)
      assertEquals(host.getReadonlyRootfs.booleanValue, true)
      assertEquals(host.getCapDrop.map(_.name).toVector, Vector("ALL"))
      assertEquals(host.getSecurityOpts.asScala.toVector, Vector("no-new-privileges"))
      assert(host.getUlimits.contains(Ulimit("nofile", 4096L, 4096L)))
      assertEquals(
        host.getUlimits.map(_.getName).toSet,
        Set("nofile", "sigpending", "memlock", "msgqueue", "core")
      )
      assertEquals(
        shown.getMounts.asScala.map(mount =>
          (mount.getDestination.getPath, mount.getRW.booleanValue)
        ).toVector,
        Vector(("/package", false))
      )

  test("each container has its own user across invokers, which is free again when the container is removed"):
    val users = UserRange(2_000_100_000L, 2_000_100_002L)
    val few = settings.copy(network = Some("bridge"), users = users)
    val (one, other) =
      (driverOf(few, newOwner()), driverOf(few, newOwner()))
    def user(container: Container) = observer.inspectContainerCmd(container.id).exec().getConfig.getUser
    for
      containers <- Future.sequence(Vector(started(one), started(other), started(one)))
      _ = assertEquals(
        containers.map(user).toSet,
        (2_000_100_000L to 2_000_100_002L).map(number => s"$number:65534").toSet
      )
      none <- other.start(resources(1))
      _ = assert(none.left.exists(_.message.contains("no user")), none.toString)
      _ <- one.close()
      again <- started(other)
      _ = assertNotEquals(user(again), user(containers(1)))
      _ <- other.close()
    yield ()

  test("the network is removed once it is empty, even after its last pack's end"):
    val driver = newDriver()
    def shown(container: String) = observer.inspectContainerCmd(container).exec().getNetworkSettings
    for
      container <- started(driver)
      network = shown(container.id).getNetworks.keySet.asScala.head
      late = observer
        .createContainerCmd(settings.image)
        .withCmd(ContainerSpec.command(settings).asJava)
        .withHostConfig(HostConfig.newHostConfig().withNetworkMode(network))
        .exec()
        .getId
      _ = observer.startContainerCmd(late).exec()
      closed = driver.close()
      _ <- driver.stop(container)
      _ = observer.removeContainerCmd(late).withForce(true).exec()
      _ <- closed
    yield
      val _ = intercept[NotFoundException](observer.inspectNetworkCmd().withNetworkId(network).exec())

  test("resizing changes the container's limits"):
    val driver = newDriver()
    for
      container <- started(driver, workers = 1)
      _ <- driver.resize(container, resources(3))
      host = observer.inspectContainerCmd(container.id).exec().getHostConfig
      _ <- driver.close()
    yield assertEquals(host.getMemory.longValue, (3 * 32L + 64) << 20)

  test(
    "a pre-warmed container gets its pack's limits and files, keeps memory when throttled, leaves nothing"
  ):
    val owner = newOwner()
    val driver = opened(driverOf(settings, owner))
    val nested = Files.createDirectories(packageDir.resolve("data"))
    Files.writeString(packageDir.resolve("exec"), "program")
    Files.writeString(nested.resolve("table"), "rows")
    for
      blank <- driver.prewarm(2, 16).map(_.toOption.get)
      mount = observer.inspectContainerCmd(blank.id).exec().getMounts.asScala.head
      seen = Path.of(mount.getSource)
      _ = assertEquals((mount.getDestination.getPath, mount.getRW.booleanValue), ("/package", false))
      adopted <- driver.adopt(blank, resources(3)).map(_.get)
      _ = assertEquals(Files.readString(seen.resolve("exec")), "program")
      _ = assertEquals(Files.readString(seen.resolve("data/table")), "rows")
      _ = assert(Files.isSameFile(seen.resolve("exec"), packageDir.resolve("exec")))
      before = observer.inspectContainerCmd(adopted.id).exec().getHostConfig
      _ = assertEquals(before.getMemory.longValue, (3 * 32L + 64) << 20)
      _ <- driver.throttle(adopted, 1)
      after = observer.inspectContainerCmd(adopted.id).exec().getHostConfig
      _ = assertEquals((after.getNanoCPUs.longValue, after.getMemory), (1_000_000_000L, before.getMemory))
      _ <- driver.stop(adopted)
      _ <- driver.close()
    yield assert(!Files.exists(seen), "its directory was removed with it")

  test("a pre-warmed container is confined to a smaller pack's limits before any later change"):
    val driver = newDriver()
    def limits(container: Container) = observer.inspectContainerCmd(container.id).exec().getHostConfig
    for
      blank <- driver.prewarm(2, 16).map(_.toOption.get)
      _ = assertEquals(limits(blank).getMemory.longValue, (2 * 16L + 64) << 20)
      adopted <- driver.adopt(blank, resources(1).copy(memoryMiB = 8)).map(_.get)
      _ = driver.confine(adopted)
      throttled <- driver.throttle(adopted, 1)
      _ = assert(throttled)
      host = limits(adopted)
      _ = assertEquals((host.getMemory.longValue, host.getPidsLimit.longValue), (72L << 20, 256L + 64))
      _ <- driver.close()
    yield ()

  test("orphans of the same owner are removed, and those of other owners are not"):
    val owner = newOwner()
    val (before, after, other) = (opened(driverOf(settings, owner)), driverOf(settings, owner), newDriver())
    for
      orphan <- started(before)
      foreign <- started(other)
      count <- after.removeOrphans()
      _ = assertEquals(count, 1)
      _ = assertEquals((exists(orphan), exists(foreign)), (false, true))
      again <- after.removeOrphans()
      _ = assertEquals(again, 0)
      _ <- orphan.exit
      _ <- other.close()
      _ <- before.close()
    yield ()

  private def firewallsOf(owner: String): Vector[String] =
    val labels = List(s"${DockerDriver.OwnerLabel}=$owner", PackNetwork.Label)
    observer.listContainersCmd().withLabelFilter(labels.asJava).exec().asScala.map(_.getId).toVector

  test("a pack loses its network even if the firewall's process has died, and an ended one gets none"):
    val owner = newOwner()
    val driver = opened(driverOf(settings, owner))
    def access =
      NetworkAccess(FlareId.random(), packs = 2, BackendConfig("direct", None, None), egress = false)
    for
      container <- started(driver)
      connected <- driver.connect(container, access)
      _ = assertEquals(connected, Right(()))
      old = firewallsOf(owner)
      _ = assertEquals(old.size, 1)
      _ = observer.killContainerCmd(old.head).exec()
      _ = driver.disconnect(container)
      // The next flare must not reach what the previous one did, even if it needs nothing.
      alone <- driver.connect(container, access.copy(packs = 1))
      _ = assertEquals(alone, Right(()))
      _ = assert(firewallsOf(owner).exists(!old.contains(_)))
      other <- started(driver)
      _ = kill(other)
      _ <- other.exit
      late <- driver.connect(other, access)
      _ = assert(late.left.exists(_.message.contains("has ended")), late.toString)
      _ <- driver.close()
    yield ()

  test("a firewall that hangs delays packs for less than the time that a program has to start"):
    val owner = newOwner()
    val driver = opened(driverOf(settings, owner, closeTimeout = 5.seconds))
    val access =
      NetworkAccess(FlareId.random(), packs = 2, BackendConfig("direct", None, None), egress = false)
    for
      container <- started(driver)
      _ <- driver.connect(container, access)
      firewall = firewallsOf(owner).head
      _ = observer.pauseContainerCmd(firewall).exec()
      _ = driver.disconnect(container)
      next <- driver.connect(container, access.copy(packs = 1))
      _ = observer.unpauseContainerCmd(firewall).exec()
      _ = assert(next.left.exists(_.message.contains("has not answered within 5 seconds")), next.toString)
      _ <- driver.close()
    yield ()

  test("while no firewall can be started, no pack begins that could reach what another did"):
    val owner = newOwner()
    val driver = opened(driverOf(settings, owner))
    val own = directoryOf(owner)
    val moved = own.resolveSibling(s"$owner-aside")
    val access =
      NetworkAccess(FlareId.random(), packs = 2, BackendConfig("direct", None, None), egress = false)
    val alone = access.copy(packs = 1)
    for
      first <- started(driver)
      second <- started(driver)
      _ <- driver.connect(first, access)
      _ <- driver.connect(second, access)
      old = firewallsOf(owner)
      // With a file in place of its directory, a firewall cannot create its socket.
      _ = Files.move(own, moved)
      _ = Files.createFile(own)
      _ = observer.killContainerCmd(old.head).exec()
      _ = driver.disconnect(first)
      outcome <- driver.connect(first, alone)
      _ = assert(outcome.left.exists(_.message.contains("may still reach")), outcome.toString)
      _ = driver.disconnect(second)
      another <- driver.connect(second, alone)
      _ = assert(another.left.exists(_.message.contains("may still reach")), another.toString)
      _ <- driver.stop(first)
      // It may have the address of a container that was never closed.
      third <- started(driver)
      fresh <- driver.connect(third, alone)
      _ = assert(fresh.left.exists(_.message.contains("may still reach")), fresh.toString)
      _ = Files.delete(own)
      _ = Files.move(moved, own)
      fourth <- started(driver)
      again <- driver.connect(fourth, alone)
      _ = assertEquals(again, Right(()))
      _ = assert(firewallsOf(owner).exists(!old.contains(_)))
      _ <- driver.close()
    yield ()

  test("a network has only the addresses it needs, and the kernel has room for all neighbours"):
    val owner = newOwner()
    // As an earlier run has left it.
    observer.createNetworkCmd().withName(s"burst-${owner.take(12)}").exec()
    val driver = opened(driverOf(settings, owner))
    val network = observer.inspectNetworkCmd().withNetworkId(s"burst-${owner.take(12)}").exec()
    val addresses = network.getIpam.getConfig.asScala.map(_.getSubnet).toVector
    assert(addresses.forall(_.endsWith("/24")), addresses.toString)
    // Read at once: the kernel does not continue a partial read.
    val limit = Files.newBufferedReader(Path.of("/proc/sys/net/ipv4/neigh/default/gc_thresh3"))
    val room = scala.util.Using.resource(limit)(_.readLine()).toInt
    assert(room >= 8 * 256, room.toString)
    driver.close()

  test("a missing image is a set-up problem that explains what to do"):
    val problem =
      intercept[SetupException](DockerDaemon.connect(settings.copy(image = "burst-no-such-image:1")))
    assert(problem.getMessage.contains("make image"), problem.getMessage)

  test("a user without access to the daemon is told which group to join"):
    assert(DockerDaemon.silent("java.net.BindException: Permission denied").contains("join the group"))
    assert(DockerDaemon.silent("java.net.BindException: No such file").contains("start its daemon"))

  test("a daemon that does not answer is a set-up problem that explains what to do"):
    val problem =
      intercept[SetupException](DockerDaemon.connect(settings.copy(host =
        Some("unix:///nonexistent/docker.sock")
      )))
    assert(problem.getMessage.contains("start its daemon"), problem.getMessage)
