package burst.controller.gateway

import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest
import java.util.HexFormat

/** The name of a namespace in its APIs' addresses: 32 hexadecimal digits, so that it never equals another
  * name below `/api`.
  */
object Tenant:
  private val Form = "[0-9a-f]{32}".r

  def of(namespace: String): String =
    HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(namespace.getBytes(UTF_8))).take(32)

  def isTenant(text: String): Boolean = Form.matches(text)
