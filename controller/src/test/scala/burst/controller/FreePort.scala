package burst.controller

import java.net.{InetAddress, ServerSocket}
import java.util.concurrent.ThreadLocalRandom
import scala.util.Try

/** A port that is free now, for what cannot choose its own. */
object FreePort:
  /** Below those the kernel gives to outgoing connections (32768 to 60999, if nobody has it otherwise), so
    * that it takes none of them before it is used; the servers of other tests have their own.
    */
  def apply(): Int = in(30000 until 32000)

  def in(ports: Range): Int =
    val loopback = InetAddress.getLoopbackAddress
    Iterator
      .continually(ports(ThreadLocalRandom.current.nextInt(ports.size)))
      .find(port => Try(ServerSocket(port, 1, loopback).close()).isSuccess)
      .get
