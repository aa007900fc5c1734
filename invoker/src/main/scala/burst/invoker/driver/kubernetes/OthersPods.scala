package burst.invoker.driver
package kubernetes

import io.fabric8.kubernetes.api.model.{ObjectMetaBuilder, Pod, PodBuilder, PodSpec}
import io.fabric8.kubernetes.client.informers.cache.ItemStore
import java.util.concurrent.ConcurrentHashMap
import java.util.stream.Stream
import scala.jdk.CollectionConverters.*

/** The store of a watch over all pods of a cluster: their names and versions, and what those that do not
  * belong to this `owner`, whose packs are in `namespace`, hold of their nodes. There can be many, so nothing
  * else is stored. Calls `changed` when what is held may have changed.
  */
private[driver] final class OthersPods(owner: String, namespace: String, changed: () => Unit)
    extends ItemStore[Pod]:
  private val pods = ConcurrentHashMap[String, Pod]()
  private val held = ConcurrentHashMap[String, (String, PodUse)]()

  /** What the pods hold, by node. */
  def byNode: Map[String, PodUse] = held.values.asScala.groupMapReduce(_._1)(_._2)(_ + _)

  override def getKey(pod: Pod): String = s"${pod.getMetadata.getNamespace}/${pod.getMetadata.getName}"

  override def put(key: String, pod: Pod): Pod =
    val holds = PodUse.node(pod).filterNot(_ => isOwn(pod)).map((_, PodUse.of(pod)))
    val before = Option(holds.fold(held.remove(key))(held.put(key, _)))
    if before != holds then changed()
    pods.put(key, bare(pod))

  override def remove(key: String): Pod =
    if held.remove(key) != null then changed()
    pods.remove(key)

  override def keySet(): Stream[String] = pods.keySet.stream()
  override def values(): Stream[Pod] = pods.values.stream()
  override def size(): Int = pods.size
  override def get(key: String): Pod = pods.get(key)
  override def isFullState(): Boolean = false

  private def isOwn(pod: Pod): Boolean =
    Option(pod.getMetadata.getLabels).exists: labels =>
      // demand pods leave as soon as they have a node; by the label alone anybody could hide
      val isDemandPod = pod.getMetadata.getNamespace == namespace && labels.containsKey(DemandPod.Label)
      labels.get(PackPod.OwnerLabel) == owner || isDemandPod

  private def bare(pod: Pod): Pod =
    val metadata = ObjectMetaBuilder()
      .withNamespace(pod.getMetadata.getNamespace)
      .withName(pod.getMetadata.getName)
      .withUid(pod.getMetadata.getUid)
      .withResourceVersion(pod.getMetadata.getResourceVersion)
      .build()
    PodBuilder().withMetadata(metadata).withSpec(PodSpec()).build()
