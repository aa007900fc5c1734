package burst.invoker.driver
package kubernetes

import io.fabric8.kubernetes.api.model.Pod
import io.fabric8.kubernetes.client.utils.Serialization
import scala.concurrent.duration.DurationInt

/** Statuses as kubelets and schedulers write them. */
class PodStateSuite extends munit.FunSuite:
  private def pod(status: String): PodSnapshot =
    PodSnapshot.Present(Serialization.unmarshal(
      s"""{"kind":"Pod","apiVersion":"v1","status":$status}""",
      classOf[Pod]
    ))

  private def container(state: String, rest: String = ""): PodSnapshot =
    pod(s"""{"phase":"Pending","containerStatuses":[{"name":"runtime","state":{$state}}]$rest}""")

  private val fresh = PodSnapshot.Present(Pod())
  private val running = pod(
    """{"phase":"Running","podIP":"10.1.2.3","containerStatuses":[{"name":"runtime","state":{"running":{}},
       "resources":{"limits":{"cpu":"1500m","memory":"64Mi"}}}]}"""
  )
  private val missing = container(
    """"waiting":{"reason":"ImagePullBackOff","message":"Back-off pulling\nimage"}"""
  )
  private val pulling = container(""""waiting":{"reason":"ContainerCreating"}""")
  private val unschedulable = pod(
    """{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable",
       "message":"0/3 nodes are available"}]}"""
  )
  private val evicted =
    pod("""{"phase":"Failed","reason":"Evicted","message":"The node was low on resource: memory."}""")
  private def ended(code: Int, reason: String) =
    container(s""""terminated":{"exitCode":$code,"reason":"$reason"}""")

  test("a pod has an address once its status has one"):
    assertEquals(PodState.address(fresh), None)
    assertEquals(PodState.address(pulling), None)
    assertEquals(PodState.address(unschedulable), None)
    assertEquals(PodState.address(running), Some(Right("10.1.2.3")))

  private def addressProblem(snapshot: PodSnapshot): Option[String] =
    PodState.address(snapshot).flatMap(_.left.toOption).map(_.sentence)

  test("a pod that will never get an address has a reason"):
    assertEquals(addressProblem(missing), Some("ImagePullBackOff: Back-off pulling image"))
    val placed = pod(
      """{"phase":"Pending","podIP":"10.1.2.3","containerStatuses":[{"name":"runtime","state":
         {"waiting":{"reason":"ImagePullBackOff"}}}]}"""
    )
    assertEquals(addressProblem(placed), Some("ImagePullBackOff"), "the pod already has an address")
    assertEquals(addressProblem(PodSnapshot.Deleted), Some("the pod was deleted"))
    assertEquals(
      addressProblem(evicted),
      Some("the pod ended: Evicted: The node was low on resource: memory.")
    )
    assertEquals(
      addressProblem(ended(137, "OOMKilled")),
      Some("the pod was killed for want of memory with code 137")
    )

  test("a late or refused pod is reported with what is known of it"):
    val quota = "pods is forbidden: exceeded quota: few"
    val sentences = Vector(
      PodProblem.Late(60_000.millis, None) -> "its runtime did not listen within 1 minute",
      PodProblem.Late(5.seconds, Some("ContainerCreating")) ->
        "its runtime did not listen within 5 seconds: ContainerCreating",
      PodProblem.Unplaced("a", 10.seconds, Some("Unschedulable")) ->
        "node a had no room for it within 10 seconds: Unschedulable",
      PodProblem.refused("no such namespace") -> "Kubernetes refused it: no such namespace",
      PodProblem.refused(quota) -> s"Kubernetes refused it: $quota"
    )
    for (problem, sentence) <- sentences do assertEquals(problem.sentence, sentence)
    assertEquals(PodProblem.refused(quota), PodProblem.OverQuota(quota))

  test("a pod gets its node, or is turned away by it"):
    val bound =
      PodSnapshot.Present(Serialization.unmarshal("""{"kind":"Pod","spec":{"nodeName":"a"}}""", classOf[Pod]))
    val rejected =
      pod("""{"phase":"Failed","reason":"OutOfcpu","message":"Node didn't have enough resource: cpu"}""")
    for placed <- List(bound, running, rejected, evicted, PodSnapshot.Deleted) do
      assertEquals(PodState.placed(placed), Some(()), placed.toString)
    assertEquals(PodState.placed(unschedulable), None)
    for unplaced <- List(unschedulable, rejected) do assert(PodState.foundNoRoom(unplaced), unplaced.toString)
    for other <- List(bound, running, evicted, PodSnapshot.Deleted) do
      assert(!PodState.foundNoRoom(other), other.toString)

  test("the reason for which a pod waits is reported"):
    assertEquals(PodState.obstacle(fresh), None)
    assertEquals(PodState.obstacle(running), None)
    assertEquals(PodState.obstacle(pulling), Some("ContainerCreating"))
    assertEquals(PodState.obstacle(unschedulable), Some("Unschedulable: 0/3 nodes are available"))

  test("an end is reported with its code, and its reason if that adds something"):
    assertEquals(PodState.exit(running), None)
    assertEquals(PodState.exit(ended(0, "Completed")), Some(ContainerExit(Some(0), oomKilled = false)))
    assertEquals(PodState.exit(ended(1, "Error")), Some(ContainerExit(Some(1), oomKilled = false)))
    assertEquals(PodState.exit(ended(137, "OOMKilled")), Some(ContainerExit(Some(137), oomKilled = true)))
    assertEquals(
      PodState.exit(ended(128, "StartError")),
      Some(ContainerExit(Some(128), oomKilled = false, Some("StartError")))
    )
    assertEquals(
      PodState.exit(container(
        """"terminated":{"exitCode":137,"reason":"Error"}""",
        """,
        "reason":"Preempting","message":"for a critical pod""""
      )),
      Some(ContainerExit(Some(137), oomKilled = false, Some("Preempting: for a critical pod")))
    )

  test("limits are read in any notation"):
    val PodSnapshot.Present(shown) = running: @unchecked
    assertEquals(PodState.limits(shown), Some(PodLimits(1500, 64L << 20)))
    assertEquals(PodState.limits(Pod()), None)

  test("limits are refused only if the node's condition is about these limits"):
    def resized(cpu: String, observed: String) = Serialization.unmarshal(
      s"""{"kind":"Pod","apiVersion":"v1","metadata":{"generation":3},
          "spec":{"containers":[{"name":"runtime","resources":{"limits":{"cpu":"$cpu","memory":"64Mi"}}}]},
          "status":{"conditions":[{"type":"PodResizePending","status":"True","reason":"Infeasible"$observed}]}}""",
      classOf[Pod]
    )
    val limits = PodLimits(8000, 64 << 20)
    assert(PodState.refused(resized("8", ""","observedGeneration":3"""), limits))
    assert(!PodState.refused(resized("8", ""","observedGeneration":2"""), limits), "about an earlier request")
    assert(!PodState.refused(resized("8", ""), limits), "about an unknown request")
    assert(!PodState.refused(resized("9", ""","observedGeneration":3"""), limits), "about other limits")
