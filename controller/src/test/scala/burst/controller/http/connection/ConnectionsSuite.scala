package burst.controller.http.connection

import burst.controller.http.connection.Connection.End
import java.net.InetAddress
import org.apache.pekko.http.scaladsl.model.{HttpRequest, HttpResponse}
import scala.concurrent.duration.DurationInt
import scala.util.Success

class ConnectionsSuite extends munit.FunSuite:
  private val limits = ConnectionLimits(most = 4, perClient = 3, 1.hour, 1000, 1.hour, 1.hour)
  private val (ann, bob, eve) = (address("10.0.0.1"), address("10.0.0.2"), address("10.0.0.3"))

  private def address(text: String) = InetAddress.getByName(text)

  private def isCut(connection: Connection) = connection.end.value == Option(Success(End.Cut))

  extension (connections: Connections)
    private def one(client: InetAddress): Connection =
      connections.admit(client).getOrElse(fail("the connection was refused"))

    /** Admits a connection on which a request with valid credentials is under way. */
    private def busy(client: InetAddress): Connection =
      val connection = one(client)
      connection.requested(HttpRequest())
      connection.showed(true)
      connection

    private def resting(client: InetAddress): Connection =
      val connection = busy(client)
      connection.answered(HttpResponse())
      connection

  test("of strangers' connections, the one that has been idle longest is cut"):
    val connections = Connections(limits)
    val (first, second, third) = (connections.one(ann), connections.one(bob), connections.one(bob))
    connections.one(ann)
    first.requested(HttpRequest())
    connections.one(eve)
    assertEquals(Seq(first, second, third).map(isCut), Seq(false, true, false))
    connections.one(eve)
    assertEquals(Seq(first, second, third).map(isCut), Seq(false, true, true))
    assertEquals(connections.size, 4)

  test("strangers are cut first, then resting connections, and busy ones never"):
    val connections = Connections(limits)
    val rests = connections.resting(ann)
    val stranger = connections.one(ann)
    val works = connections.busy(bob)
    connections.busy(bob)
    connections.busy(eve)
    assertEquals(Seq(rests, stranger, works).map(isCut), Seq(false, true, false))
    connections.busy(eve)
    assertEquals(Seq(rests, stranger, works).map(isCut), Seq(true, true, false))
    assertEquals(connections.admit(ann), None)
    works.answered(HttpResponse())
    connections.one(ann)
    assert(isCut(works))

  test("a client that has as many connections as it may loses one of its own"):
    val connections = Connections(limits)
    val others = connections.one(bob)
    val own = Seq.fill(3)(connections.one(eve))
    connections.one(eve)
    assertEquals((others +: own).map(isCut), Seq(false, true, false, false))
    val busy = Connections(limits)
    Seq.fill(3)(busy.busy(eve))
    assertEquals(busy.admit(eve), None)
    busy.one(ann)

  test("a connection whose credentials were revoked counts as a stranger's again"):
    val connections = Connections(limits)
    val works = Seq.fill(2)(connections.busy(ann)) ++ Seq.fill(2)(connections.busy(bob))
    works(2).showed(false)
    connections.one(eve)
    assertEquals(works.map(isCut), Seq(false, false, true, false))

  test("connections that end make room, and nothing is kept of them"):
    val connections = Connections(limits)
    (1 to 100).foreach: _ =>
      val works = Seq.fill(3)(connections.busy(ann))
      assertEquals(connections.admit(ann), None)
      works.foreach(_.gone())
      works.foreach(_.gone())
      works.foreach(_.answered(HttpResponse()))
    assertEquals(connections.size, 0)

  test("an IPv6 network counts as one client"):
    val connections = Connections(limits)
    Seq("2001:db8::1", "2001:db8::2:1", "2001:db8::ffff").foreach(text => connections.busy(address(text)))
    assertEquals(connections.admit(address("2001:db8::7")), None)
    connections.busy(address("2001:db8:0:1::1"))

  test("on close, resting connections end immediately, and busy ones with their responses"):
    val connections = Connections(limits)
    val (rests, works) = (connections.resting(ann), connections.busy(ann))
    val closed = connections.close()
    assertEquals(rests.end.value, Option(Success(End.Finish)))
    assertEquals(works.end.value, None)
    assertEquals(works.answered(HttpResponse()).headers.map(_.value), Seq("close"))
    assertEquals(connections.admit(bob), None)
    Seq(rests, works).foreach(_.gone())
    assert(closed.isCompleted)

  test("a process that may open few files accepts few connections"):
    assertEquals(limits.within(6), limits.copy(most = 3, perClient = 3))
    assertEquals(limits.within(4), limits.copy(most = 2, perClient = 2))
    assertEquals(limits.within(1_000_000), limits)
