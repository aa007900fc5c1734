package burst.node

import java.security.Security
import org.apache.pekko.actor.testkit.typed.scaladsl.ActorTestKit
import org.apache.pekko.actor.typed.scaladsl.adapter.*
import org.apache.pekko.io.Dns
import org.apache.pekko.io.dns.DnsProtocol
import org.apache.pekko.pattern.ask
import org.apache.pekko.util.Timeout
import scala.concurrent.Await
import scala.concurrent.duration.DurationInt

class NameCacheSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes

  test("what a name's address was is soon asked anew, by Pekko too, which keeps it for 30 s by itself"):
    NameCache.shorten()
    NameCache.Times.foreach((key, seconds) => assertEquals(Security.getProperty(key), seconds))
    val kit = ActorTestKit()
    try
      val system = kit.system.toClassic
      val localhost = DnsProtocol.Resolve("localhost", DnsProtocol.Ip())
      given Timeout = Timeout(20.seconds)
      val _ = Await.result(Dns(system).manager ? localhost, 20.seconds)
      kit.createTestProbe[Any]().awaitAssert(assertEquals(Dns.cached(localhost)(system), None), 20.seconds)
    finally kit.shutdownTestKit()
