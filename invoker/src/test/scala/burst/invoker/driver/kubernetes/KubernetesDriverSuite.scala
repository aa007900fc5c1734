package burst.invoker.driver
package kubernetes

import burst.invoker.runtime.{FreshProgram, RuntimeClient}
import burst.node.SetupException
import burst.protocol.{FailureKind, RuntimeInfo}
import io.fabric8.kubernetes.client.utils.Serialization
import io.fabric8.kubernetes.client.{ConfigBuilder, KubernetesClientBuilder}
import java.nio.file.Files
import java.util.UUID
import org.apache.pekko.actor.testkit.typed.scaladsl.ActorTestKit
import scala.concurrent.Future
import scala.concurrent.duration.{Deadline, DurationInt, FiniteDuration}
import scala.jdk.CollectionConverters.*

class KubernetesDriverSuite extends DriverContractSuite:
  import TestKubelet.Image

  /** More workers than any node has room for. */
  private val TooMany = 1_000_000

  private lazy val cluster = TestCluster()

  /** A cluster whose node can be cut off. */
  private lazy val mock = MockCluster(Prerequisites.runtimeBinary)

  /** A cluster that is too old to change the limits of pods. */
  private lazy val old = MockCluster(Prerequisites.runtimeBinary, resizes = false)
  private lazy val kit = ActorTestKit()

  override protected def release(): Unit =
    List(cluster, mock, old).foreach(_.close())
    kit.shutdownTestKit()

  private lazy val settings = KubernetesSettings(
    namespace = None,
    pod = None,
    image = cluster.image,
    runtime = Some(RuntimeInfo("x86_64", "2.36")),
    // So little that a small node has room for all pods that run together.
    cpuFactor = 0.1,
    memoryOverhead = 64,
    scratchSize = 100,
    users = UserRange(2_000_065_536L, 2_000_131_071L),
    group = 65534,
    callTimeout = 60.seconds,
    startTimeout = 60.seconds,
    stopTimeout = 60.seconds,
    parallelism = 4
  )

  protected def newDriver(): Driver = driverOf(settings)
  protected def brokenDriver(): Driver = driverOf(settings.copy(image = Image.Missing))

  private def driverOf(
      settings: KubernetesSettings,
      owner: String = UUID.randomUUID.toString,
      cluster: TestCluster = cluster
  ): Driver = KubernetesDriver(settings, owner, KubernetesCluster.of(cluster.connect(), settings), blocking)

  protected def kill(container: Container): Unit = cluster.kill(container.id)
  protected def runs(container: Container): Boolean = cluster.runs(container.id)
  protected def exists(container: Container): Boolean = pod(container.id) != null || runs(container)

  private def pod(name: String) = cluster.client.pods().withName(name).get()

  private def refusal(settings: KubernetesSettings) =
    val driver = driverOf(settings)
    for
      outcome <- driver.start(resources(1))
      _ <- driver.close()
    yield
      val failure = outcome.swap.toOption.getOrElse(fail("the container started"))
      assertEquals(failure.kind, FailureKind.StartFailed)
      failure.message

  test("an image that cannot be pulled is reported without waiting for the timeout"):
    refusal(settings.copy(image = Image.Missing, startTimeout = 1.hour)).map: message =>
      assert(message.contains("ImagePullBackOff: Back-off pulling image"), message)

  test("a pod without room on any node is reported as such, and removed"):
    val owner = UUID.randomUUID.toString
    // Waits longer each time, until the node had time to report the reason.
    def refused(timeout: FiniteDuration): Future[String] =
      val driver = driverOf(settings.copy(startTimeout = timeout), owner)
      for
        outcome <- driver.start(resources(TooMany))
        _ <- driver.close()
        message = outcome.swap.toOption.fold("it started")(_.message)
        reported <-
          if message.contains("Unschedulable") || timeout > 20.seconds then Future.successful(message)
          else refused(timeout * 4)
      yield reported
    for
      message <- refused(500.millis)
      _ = assert(message.contains("did not listen within"), message)
      _ = assert(message.contains("Unschedulable: 0/"), message)
      remaining = cluster.client.pods().withLabel(PackPod.OwnerLabel, owner).list().getItems
    yield assertEquals(remaining.size, 0)

  test("a pod that Kubernetes ends reports its reason"):
    val driver = newDriver()
    for
      container <- started(driver)
      _ = cluster.expire(container.id)
      exit <- container.exit
      _ = assert(!exit.oomKilled && exit.reason.exists(_.startsWith("DeadlineExceeded: ")), exit.toString)
      _ <- driver.close()
    yield assert(!exists(container))

  test("a token is shown by no pod, and kept no longer than necessary"):
    val owner = UUID.randomUUID.toString
    val driver = driverOf(settings, owner)
    for
      container <- started(driver)
      shown = Serialization.asYaml(pod(container.id))
      _ = assert(shown.contains(RuntimeAddress.TokenVariable))
      _ = assert(!shown.contains(container.address.token.hex))
      _ = assert(!container.toString.contains(container.address.token.hex))
      _ <- driver.close()
    yield
      val remaining = cluster.client.secrets().withLabel(PackPod.OwnerLabel, owner).list().getItems
      assertEquals(remaining.asScala.toVector, Vector.empty)

  test("each pod has its own user, which is free again when the pod is removed"):
    val owner = UUID.randomUUID.toString
    val driver = driverOf(settings.copy(users = UserRange(2_000_200_000L, 2_000_200_002L)), owner)
    def user(container: Container): Long = PackPod.user(pod(container.id)).get
    // A pod's end reaches all watchers at the same time, so its user may not be free yet.
    def startedSoon(deadline: Deadline): Future[Container] = driver.start(resources(1)).flatMap:
      case Left(_) if deadline.hasTimeLeft() => startedSoon(deadline)
      case outcome => Future.successful(outcome.fold(failure => fail(failure.message), identity))
    for
      first <- started(driver)
      second <- driver.prewarm(1, 16).map(_.toOption.get)
      third <- started(driver)
      users = Vector(first, second, third).map(user)
      _ = assertEquals(users.toSet, (2_000_200_000L to 2_000_200_002L).toSet)
      refused <- driver.start(resources(1))
      message = refused.swap.toOption.fold("it started")(_.message)
      _ = assert(message.contains("no user from 2000200000 to 2000200002 is free"), message)
      _ <- driver.stop(second)
      again <- startedSoon(2.minutes.fromNow)
      _ = assertEquals(user(again), users(1))
      // A pod of an earlier run keeps its user as long as it exists.
      next = driverOf(settings.copy(users = UserRange(users.head, users.head)), owner)
      refused <- next.start(resources(1))
      _ = assert(refused.isLeft)
      _ <- next.close()
      _ <- driver.close()
    yield ()

  test("a package is sent into a pod and run there"):
    val driver = newDriver()
    // The runtime's image has no shell, only the runtime, which reports that it knows no such command.
    val archive = Files.writeString(directory.resolve("archive"), s"#!${cluster.runtime} sent\n")
    val runtime =
      RuntimeClient(maxLine = 10_000, connectTimeout = 5.seconds, startTimeout = 60.seconds)(using kit.system)
    for
      container <- driver.start(resources(1).copy(packagePath = archive)).map(_.toOption.get)
      answer <- runtime.init(container.address, FreshProgram(container.source))
      message = answer.swap.toOption.fold("it says hello")(_.reason)
      _ = assert(message.contains("sent") && message.contains("code 2"), message)
      blank <- driver.prewarm(1, 16).map(_.toOption.get)
      adopted <- driver.adopt(blank, resources(1).copy(packagePath = archive)).map(_.get)
      again <- runtime.init(adopted.address, FreshProgram(adopted.source))
      _ = assert(again.left.exists(_.reason.contains("sent")), again.toString)
      _ <- driver.close()
    yield ()

  test("orphans of the same owner are removed, and those of other owners are not"):
    val owner = UUID.randomUUID.toString
    val (before, other) = (driverOf(settings, owner), newDriver())
    for
      orphan <- started(before)
      foreign <- started(other)
      after = driverOf(settings, owner)
      count <- after.removeOrphans()
      _ = assertEquals(count, 1)
      _ = assertEquals((exists(orphan), exists(foreign)), (false, true))
      again <- after.removeOrphans()
      _ = assertEquals(again, 0)
      _ <- orphan.exit
      _ <- other.close()
      _ <- before.close()
      _ <- after.close()
    yield ()

  test("a pod whose node does not confirm its end is not reported as removed"):
    val cutOff = settings.copy(image = Image.Unreachable, stopTimeout = 1.second)
    val driver = driverOf(cutOff, cluster = mock)
    for
      container <- started(driver)
      outcome <- driver.stop(container)
      _ = assert(mock.runs(container.id))
      _ = outcome match
        case StopOutcome.NotStopped(reason, _) => assert(reason.contains("not confirmed"), reason)
        case other => fail(other.toString)
      // The node is back.
      _ = mock.kill(container.id)
      _ <- container.exit
      stopped <- driver.stop(container)
      _ = assertEquals(stopped, StopOutcome.Stopped)
      _ <- driver.close()
    yield ()

  test("limits follow the pack as long as the node has room for them"):
    val driver = newDriver()
    def held(container: Container) = PodState.limits(pod(container.id))
    def of(workers: Int) = Some(PodLimits(workers * 100L, (workers * 32L + 64) << 20))
    for
      container <- started(driver)
      larger <- driver.resize(container, resources(3))
      _ = assert(larger)
      _ = assertEquals(held(container), of(3))
      throttled <- driver.throttle(container, 1)
      _ = assert(throttled)
      _ = assertEquals(held(container), of(3).map(_.copy(cpuMillis = 100)))
      none <- driver.resize(container, resources(TooMany))
      _ = assert(!none)
      _ = assertEquals(held(container), of(3).map(_.copy(cpuMillis = 100)))
      _ <- driver.close()
    yield ()

  test("with a server that cannot change limits each pack gets a pod of its size"):
    val driver = driverOf(settings, cluster = old)
    for
      blank <- driver.prewarm(2, 32).map(_.toOption.get)
      smaller <- driver.adopt(blank, resources(1))
      _ = assertEquals(smaller.map(_.id), None)
      same <- driver.adopt(blank, resources(2))
      _ = assertEquals(same.map(_.id), Some(blank.id))
      resized <- same.fold(fail("not adopted"))(driver.resize(_, resources(1)))
      throttled <- driver.throttle(same.get, 1)
      _ = assertEquals((resized, throttled), (false, false))
      fits <- driver.resize(same.get, resources(2))
      _ = assert(fits)
      _ <- driver.close()
    yield ()

  test("an invoker in a pod owns its packs, and an unknown pod is a set-up problem"):
    val own =
      PackPod.pod(settings.copy(image = Image.Missing), "invoker-0", "nobody", PodLimits(10, 10), 1000, None)
    cluster.client.pods().resource(own).create()
    val inPod = settings.copy(pod = Some("invoker-0"))
    val driver = driverOf(inPod)
    for
      container <- started(driver)
      owners = pod(container.id).getMetadata.getOwnerReferences.asScala.map(_.getUid).toVector
      _ = assertEquals(owners, Vector(pod("invoker-0").getMetadata.getUid))
      _ <- driver.close()
    yield
      val problem = intercept[SetupException](driverOf(settings.copy(pod = Some("none"))))
      assert(problem.getMessage.contains("burst.invoker.kubernetes.pod"), problem.getMessage)

  test("a server that does not answer is a set-up problem that explains what to do"):
    val config = ConfigBuilder()
      .withMasterUrl("http://127.0.0.1:1")
      .withRequestRetryBackoffLimit(0)
      .build()
    val client = KubernetesClientBuilder().withConfig(config).build()
    val problem = intercept[SetupException](KubernetesCluster.of(client, settings))
    assert(problem.getMessage.contains("kubectl"), problem.getMessage)
