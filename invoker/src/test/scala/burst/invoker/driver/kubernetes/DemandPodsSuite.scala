package burst.invoker.driver
package kubernetes

import burst.protocol.WantedPacks
import io.fabric8.kubernetes.api.model.Pod
import java.util.concurrent.Executors
import java.util.function.UnaryOperator
import scala.annotation.tailrec
import scala.concurrent.ExecutionContext
import scala.concurrent.duration.{Deadline, DurationInt}
import scala.jdk.CollectionConverters.*
import scala.util.Using

/** Pods that show a cluster the demand for room. */
class DemandPodsSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes
  import TestNodes.settings

  private val threads = Executors.newCachedThreadPool()
  private given ExecutionContext = ExecutionContext.fromExecutor(threads)
  override def afterAll(): Unit = threads.shutdownNow()

  private final class Fixture extends AutoCloseable:
    private val server = ApiServer()
    private val client = server.connect()
    private val cluster = KubernetesCluster.of(server.connect(), settings)
    @volatile var hosts = Set("b", "a")
    val demand = DemandPods(settings.copy(demandPods = 5), "me", cluster, () => hosts, "aarch64")
    private def api = client.pods().inNamespace(cluster.namespace)

    def pods: Vector[Pod] = api.list().getItems.asScala.toVector
    def schedule(pod: Pod): Unit =
      val change: UnaryOperator[Pod] = it =>
        it.getSpec.setNodeName("c")
        it
      val _ = api.withName(pod.getMetadata.getName).edit(change)

    /** Waits until there are this many pods of each size. */
    @tailrec def until(sizes: (Int, Int)*)(also: Vector[Pod] => Boolean = _ => true)(using
        deadline: Deadline = 60.seconds.fromNow
    ): Vector[Pod] =
      val now = pods
      val found = now.flatMap(DemandPod.kind).groupMapReduce(_.workers)(_ => 1)(_ + _)
      if found == sizes.toMap && also(now) then now
      else
        if deadline.isOverdue() then assertEquals(found, sizes.toMap)
        Thread.`yield`()
        until(sizes*)(also)

    def close(): Unit =
      demand.close()
      client.close()
      cluster.close()
      server.close()

  private def packs(count: Int, workers: Int = 4) = WantedPacks(workers, memory = 256, count)

  private def on(test: Fixture => Unit): Unit = Using.resource(Fixture())(test)

  test("there are as many pods as packs wait, up to a limit, and they go when the demand does"):
    on: fixture =>
      fixture.demand.requestRoom(Vector(packs(2), packs(9, workers = 2)))
      fixture.until(4 -> 2, 2 -> 3)()
      fixture.demand.requestRoom(Vector(packs(1)))
      fixture.until(4 -> 1)()
      fixture.demand.requestRoom(Vector.empty)
      fixture.until()()

  test("each pod requests what its pack would, excludes the existing nodes, and would end immediately"):
    on: fixture =>
      fixture.demand.requestRoom(Vector(packs(1)))
      val spec = fixture.until(4 -> 1)().head.getSpec
      val container = spec.getContainers.get(0)
      assertEquals(PodLimits.read(container.getResources), Some(PodLimits.of(settings, 4, 256)))
      val terms = spec.getAffinity.getNodeAffinity.getRequiredDuringSchedulingIgnoredDuringExecution
      val rules = terms.getNodeSelectorTerms.get(0).getMatchExpressions.asScala.toVector
      assertEquals(
        rules.map(rule => (rule.getKey, rule.getOperator, rule.getValues.asScala.toVector)),
        Vector(
          ("kubernetes.io/os", "In", Vector("linux")),
          ("kubernetes.io/arch", "In", Vector("arm64")),
          ("kubernetes.io/hostname", "NotIn", Vector("a", "b"))
        )
      )
      assertEquals((container.getArgs.asScala.toVector, container.getEnv.size), (Vector("--version"), 0))

  test("a pod that gets a node leaves it to packs, and another one waits instead"):
    on: fixture =>
      fixture.demand.requestRoom(Vector(packs(1)))
      val first = fixture.until(4 -> 1)().head
      fixture.schedule(first)
      fixture.until(4 -> 1)(now => now.forall(_.getMetadata.getUid != first.getMetadata.getUid))

  test("pods made for other nodes are deleted, and new ones follow a turn later"):
    on: fixture =>
      fixture.demand.requestRoom(Vector(packs(1)))
      val first = fixture.until(4 -> 1)().head
      fixture.hosts += "c"
      fixture.until()()
      val next = fixture.until(4 -> 1)().head
      assert(next.getMetadata.getUid != first.getMetadata.getUid)

  test("the pods make room for packs that a quota keeps out"):
    on: fixture =>
      fixture.demand.requestRoom(Vector(packs(1)))
      fixture.until(4 -> 1)()
      fixture.demand.backOff()
      assertEquals(fixture.pods, Vector.empty)

  test("pods of an earlier run are removed, and none are left at the end"):
    on: fixture =>
      fixture.demand.requestRoom(Vector(packs(2)))
      fixture.until(4 -> 2)()
      fixture.demand.clear()
      fixture.demand.close()
      assertEquals(fixture.pods, Vector.empty)
      fixture.demand.requestRoom(Vector(packs(2)))
      assertEquals(fixture.pods, Vector.empty)
