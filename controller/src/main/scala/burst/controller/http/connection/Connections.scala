package burst.controller.http.connection

import burst.controller.http.connection.Connection.End
import java.net.{Inet6Address, InetAddress}
import java.util.LinkedHashSet
import scala.collection.mutable
import scala.concurrent.{Future, Promise}
import scala.jdk.CollectionConverters.*

/** All open connections. If a further one exceeds a limit, in total or for one client, another is evicted:
  * first one that has not shown valid credentials, then one on which no request is under way, and among these
  * the one that has been inactive for longest. So a client without credentials that does no more than begin
  * requests never keeps out one that has them. A request of an authenticated client is never cut for another.
  */
final class Connections(limits: ConnectionLimits):
  private val all = EvictionQueue()
  private val clients = mutable.HashMap[String, EvictionQueue]()
  private val empty = Promise[Unit]()
  @volatile private var ending = false

  /** Admits a connection, or returns none if no other can be evicted for it. */
  def admit(address: InetAddress): Option[Connection] = synchronized:
    val client = Connections.client(address)
    val own = clients.getOrElse(client, EvictionQueue())
    val isLetIn =
      !ending && (own.size < limits.perClient || cutOne(own)) && (all.size < limits.most || cutOne(all))
    Option.when(isLetIn):
      val connection = Connection(this, client)
      Seq(all, clients.getOrElseUpdate(client, own)).foreach(_.add(connection))
      connection

  def size: Int = synchronized(all.size)

  private[connection] def closing: Boolean = ending

  private[connection] def headerSize: Long = limits.headerSize

  /** Ends all connections, those with a request under way after its answer; completes when none is left. */
  private[connection] def close(): Future[Unit] =
    val waiting = synchronized:
      ending = true
      if all.size == 0 then empty.trySuccess(())
      all.evictable
    waiting.foreach(_.mustEnd(End.Finish))
    empty.future

  private[connection] def cutAll(): Unit = synchronized(all.everyone).foreach(_.mustEnd(End.Cut))

  private[connection] def moved(connection: Connection)(change: => Unit): Unit = synchronized:
    val queues = queuesOf(connection)
    queues.foreach(_.remove(connection))
    change
    queues.foreach(_.add(connection))

  private[connection] def remove(connection: Connection): Unit = synchronized:
    queuesOf(connection).foreach(_.remove(connection))
    if clients.get(connection.client).exists(_.size == 0) then clients.remove(connection.client)
    if ending && all.size == 0 then empty.trySuccess(())

  /** Returns the queues that hold a connection; none if it was removed already. */
  private def queuesOf(connection: Connection): Seq[EvictionQueue] =
    if all.holds(connection) then all +: clients.get(connection.client).toSeq else Seq.empty

  private def cutOne(among: EvictionQueue): Boolean =
    val victim = among.first
    victim.foreach: connection =>
      remove(connection)
      connection.mustEnd(End.Cut)
    victim.isDefined

object Connections:
  /** Returns the client behind an address. One host may have all addresses of a 64-bit IPv6 network. */
  private[connection] def client(address: InetAddress): String = address match
    case six: Inet6Address => six.getAddress.take(8).map(byte => f"$byte%02x").mkString
    case other => other.getHostAddress

/** Connections grouped by whether they may be evicted; in each group, the one that has been inactive for
  * longest comes first.
  */
private final class EvictionQueue:
  private val strangers, resting, busy = LinkedHashSet[Connection]()
  private val parts = Seq(strangers, resting, busy)

  def size: Int = parts.map(_.size).sum
  def holds(connection: Connection): Boolean = parts.exists(_.contains(connection))
  def remove(connection: Connection): Unit = parts.foreach(_.remove(connection))
  def everyone: Vector[Connection] = parts.flatMap(_.asScala).toVector
  def evictable: Vector[Connection] = everyone.filterNot(_.now.underWay)
  def first: Option[Connection] = Seq(strangers, resting).flatMap(_.asScala.headOption).headOption

  def add(connection: Connection): Unit =
    val state = connection.now
    val part = if !state.trusted then strangers else if state.underWay then busy else resting
    part.add(connection)
