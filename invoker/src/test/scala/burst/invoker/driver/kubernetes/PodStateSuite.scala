package burst.invoker.driver
package kubernetes

import io.fabric8.kubernetes.api.model.Pod
import io.fabric8.kubernetes.client.utils.Serialization

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

  test("a pod has an address when its status says so"):
    assertEquals(PodState.address(fresh), None)
    assertEquals(PodState.address(pulling), None)
    assertEquals(PodState.address(unschedulable), None)
    assertEquals(PodState.address(running), Some(Right("10.1.2.3")))

  test("a pod that never will has a reason"):
    assertEquals(PodState.address(missing), Some(Left("ImagePullBackOff: Back-off pulling image")))
    val placed = pod(
      """{"phase":"Pending","podIP":"10.1.2.3","containerStatuses":[{"name":"runtime","state":
         {"waiting":{"reason":"ImagePullBackOff"}}}]}"""
    )
    assertEquals(PodState.address(placed), Some(Left("ImagePullBackOff")), "it has an address already")
    assertEquals(PodState.address(PodSnapshot.Gone), Some(Left("the pod was deleted")))
    assertEquals(
      PodState.address(evicted),
      Some(Left("the pod ended: Evicted: The node was low on resource: memory."))
    )
    assertEquals(
      PodState.address(ended(137, "OOMKilled")),
      Some(Left("the pod was killed for want of memory with code 137"))
    )

  test("a pod has its node, or is turned away by it"):
    val bound =
      PodSnapshot.Present(Serialization.unmarshal("""{"kind":"Pod","spec":{"nodeName":"a"}}""", classOf[Pod]))
    val away =
      pod("""{"phase":"Failed","reason":"OutOfcpu","message":"Node didn't have enough resource: cpu"}""")
    for placed <- List(bound, running, away, evicted, PodSnapshot.Gone) do
      assertEquals(PodState.placed(placed), Some(()), placed.toString)
    assertEquals(PodState.placed(unschedulable), None)
    for crowded <- List(unschedulable, away) do assert(PodState.hadNoRoom(crowded), crowded.toString)
    for other <- List(bound, running, evicted, PodSnapshot.Gone) do
      assert(!PodState.hadNoRoom(other), other.toString)

  test("what keeps a pod is told"):
    assertEquals(PodState.obstacle(fresh), None)
    assertEquals(PodState.obstacle(running), None)
    assertEquals(PodState.obstacle(pulling), Some("ContainerCreating"))
    assertEquals(PodState.obstacle(unschedulable), Some("Unschedulable: 0/3 nodes are available"))

  test("an end is told with its code, and its reason where that says more"):
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

  test("limits are read however they are written"):
    val PodSnapshot.Present(shown) = running: @unchecked
    assertEquals(PodState.limits(shown), Some(PodLimits(1500, 64L << 20)))
    assertEquals(PodState.limits(Pod()), None)

  test("limits are refused by what a node says of just them"):
    def resized(cpu: String, observed: String) = Serialization.unmarshal(
      s"""{"kind":"Pod","apiVersion":"v1","metadata":{"generation":3},
          "spec":{"containers":[{"name":"runtime","resources":{"limits":{"cpu":"$cpu","memory":"64Mi"}}}]},
          "status":{"conditions":[{"type":"PodResizePending","status":"True","reason":"Infeasible"$observed}]}}""",
      classOf[Pod]
    )
    val wanted = PodLimits(8000, 64 << 20)
    assert(PodState.refused(resized("8", ""","observedGeneration":3"""), wanted))
    assert(!PodState.refused(resized("8", ""","observedGeneration":2"""), wanted), "an earlier request's")
    assert(!PodState.refused(resized("8", ""), wanted), "nobody knows whose")
    assert(!PodState.refused(resized("9", ""","observedGeneration":3"""), wanted), "another's")
